-- Rollout step 7: before the first replica of this version.
-- Old replicas: go on; it only adds an index, for operators.
-- Locks: tasks for a moment at the start and at the end; reads and writes go on while the index is built.

ALTER TABLE `tasks`
    ADD INDEX `tasks_state_created_at_id_idx` (`state`, `created_at`, `id`),
    ALGORITHM = INPLACE, LOCK = NONE;
