import { dismiss, notices } from '../state/notices.js';
import { Icon } from './icon.js';

/** Results of actions: shown until they are dismissed, and announced. The region is always there, else it is not heard. */
export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ id, tone, text }) => (
        <div key={id} class={`notice notice-${tone}`}>
          <Icon name={tone === 'good' ? 'check' : 'alert'} />
          <p>{text}</p>
          <button type="button" class="icon-button" onClick={() => dismiss(id)}>
            <Icon name="close" />
            <span class="sr-only">Dismiss</span>
          </button>
        </div>
      ))}
    </div>
  );
}
