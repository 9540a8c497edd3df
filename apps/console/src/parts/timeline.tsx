import type { EventInfo } from '../api/index.js';
import type { EventLog } from '../state/event-log.js';
import { count, plural } from '../text/format.js';
import { eventText, groupByTurn, type TimelineItem, type TurnGroup } from '../text/timeline.js';
import { StateBadge } from './badge.js';
import { Icon } from './icon.js';
import { Id } from './id.js';
import { Parts } from './parts.js';
import { Empty, Failed, Loading } from './states.js';
import { Hour } from './time.js';

/** The log of a task, turn by turn: what was written, by whom, under which epoch. */
export function Timeline({ log, pruned }: { readonly log: EventLog; readonly pruned: boolean }) {
  const { events, from, loading, failure } = log.state.value;
  const groups = groupByTurn(events);
  return (
    <div class="timeline">
      {pruned && (
        <p class="panel hint">
          <Icon name="alert" /> Retention has deleted events of this task: the document is complete, the
          timeline is not.
        </p>
      )}
      {from > 0 && (
        <button type="button" class="button" onClick={() => void log.readEarlier()}>
          {loading ? 'Reading…' : `Show earlier events (${count(from)})`}
        </button>
      )}
      {groups.map((group) => (
        <Turn key={group.epoch} group={group} />
      ))}
      {events.length === 0 && loading && <Loading what="the events" />}
      {events.length === 0 && !loading && failure === null && (
        <Empty>
          <p>No events are kept.</p>
        </Empty>
      )}
      {failure !== null && <Failed what="the events" failure={failure} retry={() => void log.catchUp()} />}
    </div>
  );
}

function Turn({ group }: { readonly group: TurnGroup }) {
  const { epoch, holder, moved, items } = group;
  return (
    <section class="turn panel" aria-label={`Turn of epoch ${epoch}`}>
      <h3 class={moved ? 'turn-head turn-moved' : 'turn-head'}>
        <span>Epoch {epoch}</span>
        <span class="turn-holder">
          {moved && <span class="moved">now on</span>} <Id value={holder} keep={24} />
        </span>
      </h3>
      <ol>
        {items.map((item) => (
          <Item
            key={item.kind === 'event' ? item.event.seq : item.events[0]?.seq}
            item={item}
            holder={holder}
          />
        ))}
      </ol>
    </section>
  );
}

function Item({ item, holder }: { readonly item: TimelineItem; readonly holder: string }) {
  if (item.kind === 'event') return <Event event={item.event} holder={holder} />;
  const { events, artifactId } = item;
  const first = events[0];
  const last = events.at(-1);
  if (first === undefined || last === undefined) return null;
  return (
    <li class="event">
      <Seq event={first} until={last.seq} />
      <details class="event-body">
        <summary>
          {plural(events.length, 'piece')} of artifact {artifactId}
        </summary>
        <ol class="chunks">
          {events.map((event) => (
            <li key={event.seq}>
              <Seq event={event} />
              <div class="event-body">
                <Parts parts={eventText(event).parts} what={`Event ${event.seq}`} />
              </div>
            </li>
          ))}
        </ol>
      </details>
    </li>
  );
}

function Seq({ event, until }: { readonly event: EventInfo; readonly until?: number }) {
  return (
    <span class="seq">
      <span class="seq-number">
        <span class="sr-only">Event </span>
        {until === undefined ? event.seq : `${event.seq}–${until}`}
      </span>
      <Hour atMs={event.createdAtMs} />
    </span>
  );
}

function Event({ event, holder }: { readonly event: EventInfo; readonly holder: string }) {
  const { title, state, parts, reason } = eventText(event);
  const foreign = event.holder !== holder;
  return (
    <li class={`event ${foreign ? 'event-foreign' : ''}`}>
      <Seq event={event} />
      <div class="event-body">
        <p class="event-title">
          {title} {state !== null && <StateBadge state={state} />}
          {reason !== null && <span class="reason">{reason}</span>}
        </p>
        {foreign && (
          <p class="writer">
            <Icon name="alert" /> written by <Id value={event.holder} keep={24} />, not by the holder
          </p>
        )}
        <Parts parts={parts} what={`Event ${event.seq}`} />
      </div>
    </li>
  );
}
