-- concurrently: pages are stored while the index is made
drop index concurrently if exists page_form_in_store;
create index concurrently page_form_in_store on page_form (domain_id) where body_key is not null;
