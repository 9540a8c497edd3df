import { useEffect, useRef, useState } from 'preact/hooks';
import { asked, perform, type Action } from '../state/actions.js';
import { giveFocusBack } from './focus.js';
import { Icon } from './icon.js';

/** Asks before something is done. The browser's own dialog: it keeps the focus, and Esc closes it. */
export function ConfirmDialog() {
  const action = asked.value;
  return action === null ? null : <Confirm key={action.path} action={action} />;
}

function Confirm({ action }: { readonly action: Action }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [state, setState] = useState<{ busy: boolean; failure: string | null }>({
    busy: false,
    failure: null,
  });
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => giveFocusBack(opener);
  }, []);
  const close = (): void => {
    asked.value = null;
  };
  const confirm = async (): Promise<void> => {
    if (state.busy) return;
    setState({ busy: true, failure: null });
    const failure = await perform(action);
    if (failure === null) close();
    else setState({ busy: false, failure });
  };
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby="dialog-title"
      aria-describedby="dialog-text"
      onClose={close}
    >
      <h2 id="dialog-title">{action.title}</h2>
      <div id="dialog-text">
        <p>{action.effect}</p>
        <p class="quiet">{action.undo}</p>
      </div>
      <div role="alert">
        {state.failure !== null && (
          <p class="failure-text">
            <Icon name="alert" /> {state.failure}
          </p>
        )}
      </div>
      <div class="dialog-buttons">
        <button type="button" class="button" onClick={close}>
          {state.failure === null ? 'Leave it as it is' : 'Close'}
        </button>
        <button
          type="button"
          class={`button ${action.danger ? 'button-danger' : 'button-main'}`}
          aria-disabled={state.busy}
          onClick={confirm}
        >
          {state.busy ? 'Working…' : state.failure === null ? action.confirm : 'Try again'}
        </button>
      </div>
    </dialog>
  );
}
