import { useRef } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { Icon } from './icon.js';
import { taskPath } from '../state/paths.js';

/** Goes to a task by its id. */
export function TaskSearch() {
  const [, navigate] = useLocation();
  const field = useRef<HTMLInputElement>(null);
  const go = (event: Event): void => {
    event.preventDefault();
    const id = field.current?.value.trim() ?? '';
    if (id === '' || field.current === null) return;
    field.current.value = '';
    navigate(taskPath(id));
  };
  return (
    <form class="search" role="search" aria-label="Find a task" onSubmit={go}>
      <label class="sr-only" for="task-search">
        Task id
      </label>
      <input
        ref={field}
        id="task-search"
        type="search"
        placeholder="Task id"
        autocomplete="off"
        spellcheck={false}
      />
      <button type="submit" class="icon-button">
        <Icon name="search" />
        <span class="sr-only">Find the task</span>
      </button>
    </form>
  );
}
