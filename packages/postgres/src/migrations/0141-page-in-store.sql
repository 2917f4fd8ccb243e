-- concurrently: pages are stored while the index is made
drop index concurrently if exists page_in_store;
create index concurrently page_in_store on page (domain_id) where body_key is not null;
