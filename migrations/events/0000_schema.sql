CREATE TABLE `fan_outs` (
	`organization_id` text NOT NULL,
	`webhook` integer NOT NULL,
	`seq` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `webhook`, `seq`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `new_documents` (
	`organization_id` text NOT NULL,
	`fiscal_entity` text NOT NULL,
	`version` integer NOT NULL,
	`is_due` integer NOT NULL,
	`run_id` text NOT NULL,
	`progress` text NOT NULL,
	PRIMARY KEY(`organization_id`, `fiscal_entity`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `new_documents_due` ON `new_documents` (`organization_id`,`fiscal_entity`) WHERE is_due = 1;--> statement-breakpoint
CREATE TABLE `relays` (
	`outbox` text PRIMARY KEY NOT NULL,
	`version` integer NOT NULL,
	`known` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `events` (
	`organization_id` text NOT NULL,
	`seq` integer NOT NULL,
	`body` text NOT NULL,
	`event_id` text,
	PRIMARY KEY(`organization_id`, `seq`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `events_id` ON `events` (`event_id`) WHERE event_id is not null;--> statement-breakpoint
CREATE TABLE `webhooks` (
	`webhook` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`webhook_id` text NOT NULL,
	`organization_id` text NOT NULL,
	`name` text NOT NULL,
	`type` text,
	`url` text NOT NULL,
	`event_keys` text NOT NULL,
	`fiscal_entity_uuids` text,
	`direction` text,
	`cfdi_types` text,
	`max_per_minute` integer,
	`paced_until` integer DEFAULT 0 NOT NULL,
	`header_name` text,
	`header_value` text,
	`is_enabled` integer NOT NULL,
	`secret_version` integer NOT NULL,
	`digests` text NOT NULL,
	`secret_hint` text NOT NULL,
	`next_digests` text,
	`next_hint` text,
	`undelivered` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`deleted_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `webhooks_id` ON `webhooks` (`webhook_id`);--> statement-breakpoint
CREATE INDEX `webhooks_organization` ON `webhooks` (`organization_id`,`webhook`) WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX `webhooks_deleted` ON `webhooks` (`deleted_at`) WHERE deleted_at is not null;--> statement-breakpoint
CREATE TABLE `deliveries` (
	`webhook` integer NOT NULL,
	`seq` integer NOT NULL,
	`redelivery` integer NOT NULL,
	`event_key` text NOT NULL,
	`status` text NOT NULL,
	`due_at` integer NOT NULL,
	`token` text,
	`lease_until` integer,
	`attempts` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`webhook`, `seq`, `redelivery`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `deliveries_pending` ON `deliveries` (`webhook`,`due_at`) WHERE status = 'pending';--> statement-breakpoint
CREATE INDEX `deliveries_undelivered` ON `deliveries` (`webhook`,`seq`) WHERE status in ('failed', 'lost');--> statement-breakpoint
CREATE TABLE `alerts` (
	`alert_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`kind` text NOT NULL,
	`severity` text NOT NULL,
	`dedupe_key` text NOT NULL,
	`resource_id` text NOT NULL,
	`fiscal_entity_id` text,
	`rfc` text,
	`amount` text,
	`currency` text,
	`message` text NOT NULL,
	`message_es` text NOT NULL,
	`created_at` integer NOT NULL,
	`read_at` integer,
	`resolved_at` integer,
	`notified` integer DEFAULT 0 NOT NULL,
	`is_mailed` integer DEFAULT false NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `alerts_dedupe` ON `alerts` (`organization_id`,`dedupe_key`);--> statement-breakpoint
CREATE INDEX `alerts_organization` ON `alerts` (`organization_id`,`alert_id`);--> statement-breakpoint
CREATE INDEX `alerts_weight` ON `alerts` (`organization_id`,`severity`,"alert_id" desc);--> statement-breakpoint
CREATE INDEX `alerts_rfc` ON `alerts` (`organization_id`,`rfc`,`alert_id`);--> statement-breakpoint
CREATE INDEX `alerts_unnotified` ON `alerts` (`alert_id`) WHERE notified <> 1;--> statement-breakpoint
CREATE INDEX `alerts_unmailed` ON `alerts` (`organization_id`,`alert_id`) WHERE is_mailed = 0;--> statement-breakpoint
CREATE INDEX `alerts_open` ON `alerts` (`alert_id`) WHERE resolved_at is null and kind in ('connection.invalid', 'connection.failing', 'organization.suspended', 'cancellation.requested');--> statement-breakpoint
CREATE INDEX `alerts_unread` ON `alerts` (`organization_id`,`alert_id`) WHERE read_at is null;--> statement-breakpoint
CREATE TABLE `storage_connectors` (
	`connector` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`connector_id` text NOT NULL,
	`organization_id` text NOT NULL,
	`name` text NOT NULL,
	`provider` text NOT NULL,
	`config` text NOT NULL,
	`scope` text NOT NULL,
	`credentials` text NOT NULL,
	`credentials_version` integer NOT NULL,
	`connector_status` text NOT NULL,
	`is_planned` integer NOT NULL,
	`failures` integer NOT NULL,
	`retry_at` integer NOT NULL,
	`last_error` text,
	`last_copied_at` integer,
	`copied_count` integer NOT NULL,
	`failed_count` integer NOT NULL,
	`backfill` text,
	`parts` integer DEFAULT 0 NOT NULL,
	`manifest` text,
	`token` text,
	`lease_until` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`deleted_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `storage_connectors_id` ON `storage_connectors` (`connector_id`);--> statement-breakpoint
CREATE INDEX `storage_connectors_organization` ON `storage_connectors` (`organization_id`,`connector`) WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX `storage_connectors_unfinished` ON `storage_connectors` (`connector`) WHERE not is_planned or deleted_at is not null or backfill->>'status' <> 'completed' or manifest->>'due' is not null;--> statement-breakpoint
CREATE TABLE `storage_copied` (
	`connector` integer NOT NULL,
	`document_id` text NOT NULL,
	PRIMARY KEY(`connector`, `document_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `storage_mirrors` (
	`connector` integer NOT NULL,
	`fiscal_entity` text NOT NULL,
	`due` integer NOT NULL,
	`sequence` integer DEFAULT 0 NOT NULL,
	`import_sequence` integer DEFAULT 0 NOT NULL,
	`windows` text,
	`all_until` integer DEFAULT 0 NOT NULL,
	`documents_since` integer DEFAULT 0 NOT NULL,
	`round` text,
	PRIMARY KEY(`connector`, `fiscal_entity`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `storage_mirrors_due` ON `storage_mirrors` (`connector`,`fiscal_entity`) WHERE due;--> statement-breakpoint
CREATE TABLE `storage_refused` (
	`connector` integer NOT NULL,
	`fiscal_entity` text NOT NULL,
	`document` text NOT NULL,
	`path` text NOT NULL,
	`code` text NOT NULL,
	`message` text NOT NULL,
	`at` text NOT NULL,
	`due` integer NOT NULL,
	PRIMARY KEY(`connector`, `fiscal_entity`, `document`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `receipts` (
	`organization_id` text NOT NULL,
	`key` text NOT NULL,
	`resource_id` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `quota_warnings` (
	`organization_id` text NOT NULL,
	`quota` text NOT NULL,
	`period` text NOT NULL,
	`used` integer NOT NULL,
	`most` integer NOT NULL,
	`marked_at` integer NOT NULL,
	`notified` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`organization_id`, `quota`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `quota_warnings_unnotified` ON `quota_warnings` (`organization_id`,`quota`) WHERE notified = 0;--> statement-breakpoint
CREATE TABLE `audit_events` (
	`audit_event_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`actor` text NOT NULL,
	`action` text NOT NULL,
	`resource_id` text NOT NULL,
	`changed` text NOT NULL,
	`request_id` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `audit_events_organization` ON `audit_events` (`organization_id`,`audit_event_id`);--> statement-breakpoint
CREATE TABLE `guards` (
	`name` text NOT NULL
);--> statement-breakpoint
CREATE TRIGGER `guards_refuse` BEFORE INSERT ON `guards` BEGIN SELECT RAISE(ABORT, 'guard ' || new.name); END;--> statement-breakpoint
CREATE TRIGGER `events_mirrored` AFTER INSERT ON `events`
WHEN (new.body LIKE '{"event":"sync.completed"%' AND instr(new.body, '"created_count"') > 0)
	OR new.body LIKE '{"event":"mailbox.notification_received"%'
BEGIN
	INSERT INTO storage_mirrors (connector, fiscal_entity, due)
	SELECT connector, new.body->>'fiscal_entity_id', 1 FROM storage_connectors
	WHERE organization_id = new.organization_id AND deleted_at IS NULL AND is_planned
	ON CONFLICT (connector, fiscal_entity) DO UPDATE SET due = 1 WHERE due <> 1;
END;
