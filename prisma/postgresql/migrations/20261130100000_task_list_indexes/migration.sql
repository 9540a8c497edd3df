-- Rollout step 3: before the first replica of this version.
-- Old replicas: go on; the index on contexts is replaced by one that begins with the same columns.
-- Locks: writes to tasks wait while the two indexes are built, some seconds per million tasks; prisma/README.md says how
-- to build them beforehand without a lock, which is why they may be there. Dropping the old one takes a moment.
-- state and status_timestamp change together, so chunks stay heap-only updates.

CREATE INDEX IF NOT EXISTS "tasks_tenant_owner_state_status_timestamp_id_idx" ON "tasks"("tenant", "owner", "state", "status_timestamp", "id");

CREATE INDEX IF NOT EXISTS "tasks_tenant_owner_context_id_status_timestamp_id_state_idx" ON "tasks"("tenant", "owner", "context_id", "status_timestamp", "id", "state");

DROP INDEX "tasks_tenant_owner_context_id_status_timestamp_id_idx";
