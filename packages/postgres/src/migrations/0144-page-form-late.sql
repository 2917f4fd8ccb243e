-- concurrently: pages are stored while the index is made
drop index concurrently if exists page_form_late;
create index concurrently page_form_late on page_form (body_late_at) where body_late_at is not null;
