-- Rollout step 3: before the first replica of this version.
-- Old replicas: go on; the index on contexts is replaced by one that begins with the same columns.
-- Locks: the file, while the two indexes are built: about a second per million tasks.

CREATE INDEX "tasks_tenant_owner_state_status_timestamp_id_idx" ON "tasks"("tenant", "owner", "state", "status_timestamp", "id");

CREATE INDEX "tasks_tenant_owner_context_id_status_timestamp_id_state_idx" ON "tasks"("tenant", "owner", "context_id", "status_timestamp", "id", "state");

DROP INDEX "tasks_tenant_owner_context_id_status_timestamp_id_idx";
