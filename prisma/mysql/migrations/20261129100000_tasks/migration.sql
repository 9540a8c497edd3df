-- Rollout step 1: before the first replica of this version.
-- Old replicas: know nothing of this table and go on.
-- Locks: nothing that exists; it only creates. DDL commits at once on MySQL: after a failure drop what is there, then resolve.
-- utf8mb4_bin: ids, tenants and owners compare byte for byte (trailing spaces are padded away: protocol 1).
-- InnoDB appends the primary key to every index, so the second one needs no id (and would be too long with it).

CREATE TABLE `tasks` (
    `id` VARCHAR(191) NOT NULL,
    `tenant` VARCHAR(191) NOT NULL,
    `owner` VARCHAR(191) NOT NULL,
    `context_id` VARCHAR(191) NOT NULL,
    `state` VARCHAR(32) NOT NULL,
    `status_timestamp` VARCHAR(64) NULL,
    `version` INTEGER NOT NULL,
    `created_at` DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
    `updated_at` DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
    INDEX `tasks_tenant_owner_status_timestamp_id_idx` (`tenant`, `owner`, `status_timestamp`, `id`),
    INDEX `tasks_tenant_owner_context_id_status_timestamp_idx` (`tenant`, `owner`, `context_id`, `status_timestamp`),

    PRIMARY KEY (`id`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
