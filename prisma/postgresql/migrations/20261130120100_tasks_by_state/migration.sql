-- Rollout step 7: before the first replica of this version.
-- Old replicas: go on; it only adds an index, for operators.
-- Locks: writes to tasks wait while the index is built, some seconds per million tasks; prisma/README.md says how to
-- build it beforehand without a lock, which is why it may be there.
-- created_at and id never change and state changes only with status_timestamp, so chunks stay heap-only updates.

CREATE INDEX IF NOT EXISTS "tasks_state_created_at_id_idx" ON "tasks"("state", "created_at", "id");
