CREATE TABLE `organizations` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`contact_email` text,
	`logo_url` text,
	`timezone` text NOT NULL,
	`plan` text NOT NULL,
	`rfc_allowance` integer,
	`trial_ends_at` integer,
	`extractor_count` integer NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `members` (
	`member_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`name` text NOT NULL,
	`email` text NOT NULL,
	`role` text NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `members_organization` ON `members` (`organization_id`,`member_id`);--> statement-breakpoint
CREATE TABLE `credentials` (
	`digest` text PRIMARY KEY NOT NULL,
	`api_key` text NOT NULL,
	`organization_id` text NOT NULL,
	`name` text NOT NULL,
	`role` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`revoked_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `credentials_api_key` ON `credentials` (`api_key`);--> statement-breakpoint
CREATE INDEX `credentials_organization` ON `credentials` (`organization_id`,`created_at`,`api_key`);--> statement-breakpoint
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
CREATE TABLE `connections` (
	`connection` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`organization_id` text NOT NULL,
	`fiscal_entity_id` text NOT NULL,
	`entity` integer NOT NULL,
	`rfc` text NOT NULL,
	`shard` integer NOT NULL,
	`state` text NOT NULL,
	`name` text,
	`data_source_keys` text,
	`ciec` text,
	`ciec_accepted_at` integer,
	`first_active_at` integer,
	`visible_from` text,
	`visible_to` integer,
	`imported_at` integer,
	`linked_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `connections_organization` ON `connections` (`organization_id`,`fiscal_entity_id`);--> statement-breakpoint
CREATE INDEX `connections_entity` ON `connections` (`entity`,`state`);--> statement-breakpoint
CREATE TABLE `fiscal_entities` (
	`entity` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`fiscal_entity_id` text NOT NULL,
	`rfc` text NOT NULL,
	`shard` integer NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `fiscal_entities_rfc` ON `fiscal_entities` (`rfc`);--> statement-breakpoint
CREATE UNIQUE INDEX `fiscal_entities_id` ON `fiscal_entities` (`fiscal_entity_id`);--> statement-breakpoint
CREATE TABLE `extractors` (
	`extractor_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`name` text NOT NULL,
	`is_enabled` integer NOT NULL,
	`trigger_kind` text NOT NULL,
	`schedule_kind` text,
	`schedule_spec` text NOT NULL,
	`timezone` text NOT NULL,
	`scope` text NOT NULL,
	`scope_months` integer,
	`data_source_keys` text NOT NULL,
	`cadence` text,
	`armed_day` text,
	`last_run_at` integer,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `extractors_organization` ON `extractors` (`organization_id`,`extractor_id`);--> statement-breakpoint
CREATE TABLE `runs` (
	`run_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`extractor_id` text NOT NULL,
	`trigger` text NOT NULL,
	`fiscal_entity_id` text,
	`instant` integer NOT NULL,
	`status` text NOT NULL,
	`connections` integer NOT NULL,
	`dispatched` integer NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `runs_planned` ON `runs` (`created_at`) WHERE status = 'planned';--> statement-breakpoint
CREATE TABLE `sandbox_cancellations` (
	`rfc` text NOT NULL,
	`uuid` text NOT NULL,
	`cancelled_at` integer NOT NULL,
	`cancellation_reason` text,
	PRIMARY KEY(`rfc`, `uuid`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `sandbox_refused_ciecs` (
	`digest` text PRIMARY KEY NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `dead_letters` (
	`dead_letter_id` text PRIMARY KEY NOT NULL,
	`queue` text NOT NULL,
	`body` text NOT NULL,
	`reason` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
