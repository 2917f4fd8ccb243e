-- An owner inspects a page: a rendering node loads what crawlers get and what people get, once. The results are kept
-- for a day. The lease works as for jobs.
create table inspection (
  id              uuid primary key default gen_random_uuid(),
  domain_id       integer not null references domain on delete cascade,
  path            text collate "C" not null,
  variant         text not null default 'desktop' check (variant in ('desktop', 'mobile')),
  state           text not null default 'queued' check (state in ('queued', 'running', 'done', 'failed')),
  reason          text,
  node            text,
  attempts        smallint not null default 0,
  lease_until     timestamptz,
  requested_at    timestamptz not null default now(),
  finished_at     timestamptz,
  crawler         jsonb,
  person          jsonb,
  crawler_picture bytea,
  person_picture  bytea
);
alter table inspection
  alter column crawler_picture set storage external,
  alter column person_picture set storage external;
create unique index inspection_open on inspection (domain_id, path, variant) where state in ('queued', 'running');
create index inspection_page on inspection (domain_id, path, variant, requested_at);
create index inspection_waiting on inspection (requested_at) where state in ('queued', 'running');
create index inspection_age on inspection (requested_at);
