-- The list of a domain's pages in every order, what is told of each page beside what is stored of it, what its last
-- renders said, and inspections: src/store/list-pages.ts, src/lens/.

-- Each order ends with the path, so that a list goes on after its last row, and a search for part of a path reads
-- nothing but the index. Freshness depends on age, status and the domain's settings.
create index page_rendered on page (domain_id, rendered_at, path) include (status, stale_since);
create index page_status on page (domain_id, status, path);
create index page_size on page (domain_id, html_bytes, path);
-- What has outlived its time is found by the first of them, too.
drop index page_age;

-- Who asked last for a page that was served, as it calls itself. Not in `page`: it outlives a refresh, and an edge
-- that notes visits never waits for a page that is being stored or purged. src/store/last-visits.ts.
create table last_visit (
  domain_id integer not null references domain on delete cascade,
  path      text collate "C" not null,
  crawler   text not null,
  category  text not null,
  asked_at  timestamptz not null,
  primary key (domain_id, path)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index last_visit_asked on last_visit (domain_id, asked_at, path);

-- How the last render of a path ended, for longer than its record is kept.
create table last_render (
  domain_id integer not null references domain on delete cascade,
  path      text collate "C" not null,
  outcome   text collate "C" not null,
  ended_at  timestamptz not null,
  primary key (domain_id, path)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index last_render_outcome on last_render (domain_id, outcome, path);
create index last_render_ended on last_render (domain_id, ended_at);

-- What the last few different snapshots of a page said, without their HTML. `facts`: JSON in brotli.
create table page_digest (
  id          bigint generated always as identity primary key,
  domain_id   integer not null references domain on delete cascade,
  path        text collate "C" not null,
  etag        text not null,
  status      smallint not null,
  html_bytes  integer not null,
  rendered_at timestamptz not null,
  facts       bytea not null
) with (autovacuum_vacuum_scale_factor = 0.02);
alter table page_digest alter column facts set storage external;
create index page_digest_page on page_digest (domain_id, path, id);
create index page_digest_age on page_digest (rendered_at);

-- Somebody looks at a page: a node that renders loads what crawlers get and what people get beside it, once.
-- The answers are kept for a day; lease: as of a job.
create table inspection (
  id              uuid primary key default gen_random_uuid(),
  domain_id       integer not null references domain on delete cascade,
  path            text collate "C" not null,
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
create unique index inspection_open on inspection (domain_id, path) where state in ('queued', 'running');
create index inspection_page on inspection (domain_id, path, requested_at);
create index inspection_waiting on inspection (requested_at) where state in ('queued', 'running');
create index inspection_age on inspection (requested_at);
