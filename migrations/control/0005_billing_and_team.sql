CREATE TABLE `billing_customers` (
	`organization_id` text PRIMARY KEY NOT NULL,
	`customer_ref` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `invoices` (
	`invoice_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`sequence` integer NOT NULL,
	`period` text NOT NULL,
	`subtotal` text NOT NULL,
	`tax` text NOT NULL,
	`total` text NOT NULL,
	`currency` text NOT NULL,
	`status` text NOT NULL,
	`issued_at` integer NOT NULL,
	`due_on` text NOT NULL,
	`paid_at` integer,
	`rule_ref` text,
	`provider_ref` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `invoices_organization` ON `invoices` (`organization_id`,`sequence`);--> statement-breakpoint
CREATE UNIQUE INDEX `invoices_period` ON `invoices` (`organization_id`,`period`) WHERE rule_ref is not null;--> statement-breakpoint
CREATE INDEX `invoices_open` ON `invoices` (`organization_id`,`due_on`) WHERE status = 'open';--> statement-breakpoint
CREATE INDEX `invoices_due` ON `invoices` (`due_on`) WHERE status = 'open';--> statement-breakpoint
CREATE INDEX `invoices_untold` ON `invoices` (`due_on`) WHERE status = 'open' and provider_ref is null;--> statement-breakpoint
CREATE INDEX `invoices_provider` ON `invoices` (`provider_ref`) WHERE provider_ref is not null;--> statement-breakpoint
CREATE TABLE `operator_orders` (
	`order_id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`organization_id` text NOT NULL,
	`invoice_id` text,
	`plan` text,
	`rfc_allowance` integer,
	`created_at` integer NOT NULL,
	`done_at` integer,
	`refused` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `operator_orders_open` ON `operator_orders` (`created_at`) WHERE done_at is null;--> statement-breakpoint
CREATE TABLE `provider_events` (
	`event_id` text PRIMARY KEY NOT NULL,
	`type` text NOT NULL,
	`subject` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `provider_events_subject` ON `provider_events` (`subject`);--> statement-breakpoint
CREATE TABLE `invitations` (
	`invitation_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`email` text NOT NULL,
	`role` text NOT NULL,
	`name` text,
	`digest` text NOT NULL,
	`status` text NOT NULL,
	`invited_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `invitations_digest` ON `invitations` (`digest`);--> statement-breakpoint
CREATE UNIQUE INDEX `invitations_pending` ON `invitations` (`organization_id`,lower(email)) WHERE status = 'pending';--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`organization_id` text NOT NULL,
	`key` text NOT NULL,
	`fingerprint` text NOT NULL,
	`token` text NOT NULL,
	`lease_until` integer NOT NULL,
	`state` text NOT NULL,
	`resource_id` text,
	`answer` text,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `idempotency_keys_created` ON `idempotency_keys` (`created_at`);--> statement-breakpoint
ALTER TABLE `organizations` ADD `suspension` text;--> statement-breakpoint
ALTER TABLE `organizations` ADD `billed_month` text;--> statement-breakpoint
CREATE INDEX `organizations_billed` ON `organizations` (`timezone`,`billed_month`);--> statement-breakpoint
CREATE INDEX `organizations_trial` ON `organizations` (`trial_ends_at`) WHERE plan = 'diagnostic' and suspension is null;--> statement-breakpoint
CREATE INDEX `organizations_suspended` ON `organizations` (`suspension`) WHERE suspension is not null;--> statement-breakpoint
ALTER TABLE `credentials` ADD `member_id` text;--> statement-breakpoint
UPDATE `credentials` SET `member_id` = (SELECT `member_id` FROM `members` WHERE `members`.`organization_id` = `credentials`.`organization_id`) WHERE `name` = 'Sign-up' AND `role` = 'owner' AND `created_at` = (SELECT `created_at` FROM `organizations` WHERE `id` = `credentials`.`organization_id`);--> statement-breakpoint
ALTER TABLE `connections` ADD `active_since` integer;--> statement-breakpoint
ALTER TABLE `connections` ADD `paused_from` text;--> statement-breakpoint
ALTER TABLE `connections` ADD `paused_by` text;--> statement-breakpoint
CREATE UNIQUE INDEX `members_email` ON `members` (`organization_id`,lower(email)) WHERE status = 'active';