-- The whole table becomes a partition, whose name has the first day that is not in it. Retention drops it as the others.
-- What PostgreSQL writes as text here does not depend on the server's settings.
set local timezone = 'UTC';
set local datestyle = 'ISO, YMD';
do $$
declare
  bound text;
  next  bigint;
  past  text;
begin
  select substring(pg_get_constraintdef(oid) from '\d{4}-\d\d-\d\d') into bound from pg_constraint
   where conname = 'render_record_before' and conrelid = 'render_record'::regclass;
  past := 'render_record_before_' || replace(bound, '-', '');
  select coalesce(max(id), 0) + 1 into next from render_record;

  alter table render_record alter column id drop identity;
  execute format('alter table render_record rename to %I', past);
  alter index render_record_page rename to render_record_before_page;
  alter index render_record_domain rename to render_record_before_domain;
  alter index render_record_ended rename to render_record_before_ended;
  execute format('alter table %I rename constraint render_record_pkey to render_record_before_pkey', past);

  create table render_record (
    id         bigint not null,
    domain_id  integer not null constraint render_record_domain_id_fkey references domain on delete cascade,
    path       text collate "C" not null,
    variant    text not null default 'desktop' constraint render_record_variant_check check (variant in ('desktop', 'mobile')),
    job_id     uuid not null,
    outcome    text not null,
    detail     text,
    queued_ms  integer not null,
    stored_ms  integer not null,
    record     jsonb not null,
    ended_at   timestamptz not null default now(),
    request_id text
  ) partition by range (ended_at);
  create index render_record_page on render_record (domain_id, path, variant, id);
  create index render_record_domain on render_record (domain_id, id);
  create index render_record_ended on render_record (ended_at);
  execute format('create sequence render_record_id_seq as bigint start %s owned by render_record.id', next);
  alter table render_record alter column id set default nextval('render_record_id_seq');
  execute format('alter table render_record attach partition %I for values from (minvalue) to (%L)', past, bound || ' 00:00+00');
  create table render_record_default partition of render_record default
    with (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
end
$$;
