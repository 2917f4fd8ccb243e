-- concurrently: pages are stored while the index is made
drop index concurrently if exists page_late;
create index concurrently page_late on page (body_late_at) where body_late_at is not null;
