-- Rollout step 6: before the first replica of this version. Adds replicas, changes no other table.
-- Old replicas: know nothing of this table and go on; operators do not see them in it.
-- Locks: nothing that exists; it only creates. DDL commits at once on MySQL: after a failure drop what is there, then resolve.

CREATE TABLE `replicas` (
    `replica_id` VARCHAR(191) NOT NULL,
    `version` VARCHAR(255) NOT NULL,
    `host` VARCHAR(255) NOT NULL,
    `pid` INTEGER NOT NULL,
    `heartbeat_ms` INTEGER NOT NULL,
    `phase` VARCHAR(16) NOT NULL,
    `stats` LONGTEXT NOT NULL,
    `started_at` DATETIME(3) NOT NULL,
    `beat_at` DATETIME(3) NOT NULL,
    `pause_requested_at` DATETIME(3) NULL,

    PRIMARY KEY (`replica_id`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
