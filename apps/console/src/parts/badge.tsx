import { stateLabel, stateTone, type Tone } from '../text/states.js';
import { Icon, type IconName } from './icon.js';

const ICONS: Readonly<Record<Tone, IconName>> = {
  busy: 'right',
  wait: 'wait',
  good: 'check',
  bad: 'stop',
  calm: 'dot',
};

/** A word with a colour and a shape of its own: the colour is never all there is. */
export function Badge({ tone, text }: { readonly tone: Tone; readonly text: string }) {
  return (
    <span class={`badge badge-${tone}`}>
      <Icon name={ICONS[tone]} />
      {text}
    </span>
  );
}

/** The state of a task. */
export function StateBadge({ state }: { readonly state: string }) {
  return <Badge tone={stateTone(state)} text={stateLabel(state)} />;
}
