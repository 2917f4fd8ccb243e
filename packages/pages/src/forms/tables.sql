-- Markdown and cards made of stored pages; packages/pages/src/forms/stored-form.ts. One of another snapshot (`page_etag`) is not read.
create table page_form (
  domain_id integer not null,
  path      text collate "C" not null,
  variant   text not null,
  form      text not null check (form in ('markdown', 'card')),
  page_etag text not null,
  body_br   bytea,
  etag      text not null,
  -- For response headers; packages/pages/src/forms/convert.ts.
  facts     jsonb not null,
  -- As in `page`.
  body_key     text collate "C",
  body_bytes   integer,
  body_sum     bytea,
  body_foreign boolean not null default false,
  body_late_at timestamptz,
  primary key (domain_id, path, variant, form),
  foreign key (domain_id, path, variant) references page on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
alter table page_form alter column body_br set storage external;
create index page_form_in_store on page_form (domain_id) where body_key is not null;
create index page_form_late on page_form (body_late_at) where body_late_at is not null;
