-- Rollout step 4: before the first replica of this version. The columns of deliveries, and dead letters.
-- Old replicas: go on, and send what they commit themselves; replicas of this version send it too, so during a rollout an event may come twice.
-- Locks: the file, while push_notification_configs is copied: about a second per million configs.
-- A copy, because SQLite adds no column with a default that is not constant to a table that has rows. All in one
-- transaction, so that nobody sees the moment without the table; a savepoint, because a script may be inside one.

SAVEPOINT "push_deliveries";

CREATE TABLE "new_push_notification_configs" (
    "task_id" TEXT NOT NULL,
    "config_id" TEXT NOT NULL,
    "tenant" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "payload" TEXT NOT NULL,
    "wire_version" TEXT NOT NULL,
    "created_at" DATETIME NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
    "origin" TEXT NOT NULL DEFAULT '',
    "position" INTEGER NOT NULL DEFAULT 0,
    "status" TEXT NOT NULL DEFAULT 'active',
    "due_at" DATETIME DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
    "holder" TEXT,
    "claim" INTEGER NOT NULL DEFAULT 0,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "failing_since" DATETIME,
    "last_error" TEXT,
    "body_seq" INTEGER,
    "body" TEXT,
    "changed_at" DATETIME NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),

    PRIMARY KEY ("task_id", "config_id")
);

INSERT INTO "new_push_notification_configs"
       ("task_id", "config_id", "tenant", "owner", "url", "payload", "wire_version", "created_at")
SELECT "task_id", "config_id", "tenant", "owner", "url", "payload", "wire_version", "created_at"
  FROM "push_notification_configs";

DROP TABLE "push_notification_configs";

ALTER TABLE "new_push_notification_configs" RENAME TO "push_notification_configs";

CREATE INDEX "push_notification_configs_due_at_idx" ON "push_notification_configs"("due_at") WHERE "due_at" IS NOT NULL;

CREATE INDEX "push_notification_configs_disabled_idx" ON "push_notification_configs"("task_id", "config_id") WHERE "status" = 'disabled';

CREATE TABLE "push_dead_letters" (
    "task_id" TEXT NOT NULL,
    "config_id" TEXT NOT NULL,
    "seq" INTEGER NOT NULL,
    "tenant" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL,
    "error" TEXT NOT NULL,
    "body" TEXT NOT NULL,
    "content_type" TEXT NOT NULL,
    "died_at" DATETIME NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
    "due_at" DATETIME,
    "holder" TEXT,
    "claim" INTEGER NOT NULL DEFAULT 0,
    "delivered_at" DATETIME,

    PRIMARY KEY ("task_id", "config_id", "seq")
);

CREATE INDEX "push_dead_letters_died_at_delivered_at_idx" ON "push_dead_letters"("died_at", "delivered_at");

CREATE INDEX "push_dead_letters_due_at_idx" ON "push_dead_letters"("due_at") WHERE "due_at" IS NOT NULL;

RELEASE "push_deliveries";
