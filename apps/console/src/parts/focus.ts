/** So long a button may still go away because of what it did: its effect comes by the live stream. */
const WATCHED_MS = 10_000;

/**
 * Gives the focus back to what was pressed. A button that is gone by then, or goes soon after because it is no longer
 * needed, would leave the keyboard at the top of the document: the heading of the view gets the focus instead.
 */
export function giveFocusBack(opener: Element | null): void {
  requestAnimationFrame(() => {
    if (!(opener instanceof HTMLElement) || !opener.isConnected) return focusHeading();
    opener.focus();
    const observer = new MutationObserver(() => {
      if (opener.isConnected) return;
      observer.disconnect();
      if (document.activeElement === document.body) focusHeading();
    });
    observer.observe(document.body, { childList: true, subtree: true });
    setTimeout(() => observer.disconnect(), WATCHED_MS);
  });
}

function focusHeading(): void {
  document.querySelector('h1')?.focus();
}
