-- Rollout step 1: before the first replica of this version. Holds webhooks and their secrets.
-- Old replicas: know nothing of this table and go on.
-- Locks: the file, for the milliseconds the statement takes.

CREATE TABLE "push_notification_configs" (
    "task_id" TEXT NOT NULL,
    "config_id" TEXT NOT NULL,
    "tenant" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "payload" TEXT NOT NULL,
    "wire_version" TEXT NOT NULL,
    "created_at" DATETIME NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),

    PRIMARY KEY ("task_id", "config_id")
);
