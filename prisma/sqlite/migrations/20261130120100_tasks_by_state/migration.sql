-- Rollout step 7: before the first replica of this version.
-- Old replicas: go on; it only adds an index, for operators.
-- Locks: the file, while the index is built: about half a second per million tasks.

CREATE INDEX "tasks_state_created_at_id_idx" ON "tasks"("state", "created_at", "id");
