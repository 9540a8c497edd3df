-- Rollout step 3: before the first replica of this version.
-- Old replicas: go on; it only adds indexes.
-- Locks: tasks for a moment at the start and at the end; reads and writes go on while the indexes are built.
-- The index on contexts stays as it is: its entries are as long as InnoDB takes, so state needs one of its own.

ALTER TABLE `tasks`
    ADD INDEX `tasks_tenant_owner_state_status_timestamp_id_idx` (`tenant`, `owner`, `state`, `status_timestamp`, `id`),
    ADD INDEX `tasks_tenant_owner_context_id_state_status_timestamp_idx` (`tenant`, `owner`, `context_id`, `state`, `status_timestamp`),
    ALGORITHM = INPLACE, LOCK = NONE;
