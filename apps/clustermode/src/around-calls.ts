import type { A2AError } from '@a2a-js/sdk/errors';
import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';

/** What happens around every call of a request handler. */
export interface CallHooks {
  /** Gives the parameters the call is made with; what it throws is the call's answer. */
  admit<Params extends { readonly tenant: string }>(params: Params, context: ServerCallContext): Params;
  /** Gives the error the caller gets for one that ended a call. */
  failed(error: unknown, context: ServerCallContext): A2AError;
  /** The card, which every transport asks for before a call. */
  card(provider: A2ARequestHandler['getAgentCard']): A2ARequestHandler['getAgentCard'];
}

type Scoped = { readonly tenant: string };

/** The same handler with hooks around all its calls. */
export function aroundCalls(handler: A2ARequestHandler, hooks: CallHooks): A2ARequestHandler {
  const call =
    <Params extends Scoped, Result>(
      method: (params: Params, context: ServerCallContext) => Promise<Result>,
    ) =>
    async (params: Params, context: ServerCallContext): Promise<Result> => {
      try {
        return await method.call(handler, hooks.admit(params, context), context);
      } catch (error) {
        throw hooks.failed(error, context);
      }
    };
  const stream = <Params extends Scoped, Item>(
    method: (params: Params, context: ServerCallContext) => AsyncGenerator<Item, void, undefined>,
  ) =>
    async function* (params: Params, context: ServerCallContext): AsyncGenerator<Item, void, undefined> {
      try {
        yield* method.call(handler, hooks.admit(params, context), context);
      } catch (error) {
        throw hooks.failed(error, context);
      }
    };
  return {
    getAgentCard: hooks.card(() => handler.getAgentCard()),
    getAuthenticatedExtendedAgentCard: call(handler.getAuthenticatedExtendedAgentCard),
    sendMessage: call(handler.sendMessage),
    sendMessageStream: stream(handler.sendMessageStream),
    getTask: call(handler.getTask),
    listTasks: call(handler.listTasks),
    cancelTask: call(handler.cancelTask),
    resubscribe: stream(handler.resubscribe),
    createTaskPushNotificationConfig: call(handler.createTaskPushNotificationConfig),
    getTaskPushNotificationConfig: call(handler.getTaskPushNotificationConfig),
    listTaskPushNotificationConfigs: call(handler.listTaskPushNotificationConfigs),
    deleteTaskPushNotificationConfig: call(handler.deleteTaskPushNotificationConfig),
  };
}
