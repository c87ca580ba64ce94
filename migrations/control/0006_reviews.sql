DROP INDEX `invoices_untold`;--> statement-breakpoint
ALTER TABLE `invoices` ADD `review_at` integer;--> statement-breakpoint
ALTER TABLE `invoices` ADD `tell_at` integer;--> statement-breakpoint
ALTER TABLE `invoices` ADD `pdf_url` text;--> statement-breakpoint
UPDATE `invoices` SET `tell_at` = `issued_at` WHERE `provider_ref` IS NULL AND `status` = 'open';--> statement-breakpoint
CREATE INDEX `invoices_review` ON `invoices` (`review_at`) WHERE status = 'open' and review_at is not null;--> statement-breakpoint
CREATE INDEX `invoices_untold` ON `invoices` (`tell_at`) WHERE status = 'open' and tell_at is not null;