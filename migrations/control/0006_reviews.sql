DROP INDEX `invoices_untold`;--> statement-breakpoint
ALTER TABLE `invoices` ADD `review_at` integer;--> statement-breakpoint
ALTER TABLE `invoices` ADD `tell_at` integer;--> statement-breakpoint
CREATE INDEX `invoices_review` ON `invoices` (`review_at`) WHERE status = 'open' and review_at is not null;--> statement-breakpoint
CREATE INDEX `invoices_untold` ON `invoices` (`tell_at`) WHERE status = 'open' and provider_ref is null;