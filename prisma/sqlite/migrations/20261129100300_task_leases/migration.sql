-- Rollout step 2: its own migration, so that it can be looked at alone. Adds task_leases, changes no other table.
-- Old replicas: know nothing of this table and go on.
-- Locks: the file, for the milliseconds the statement takes.
-- The sweeper reads candidates by expires_at.

CREATE TABLE "task_leases" (
    "task_id" TEXT NOT NULL PRIMARY KEY,
    "tenant" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "holder" TEXT NOT NULL,
    "epoch" INTEGER NOT NULL,
    "pending" BOOLEAN NOT NULL DEFAULT false,
    "acquired_at" DATETIME NOT NULL,
    "expires_at" DATETIME NOT NULL,
    "cancel_requested_at" DATETIME
);

CREATE INDEX "task_leases_expires_at_idx" ON "task_leases"("expires_at");
