-- Bodies of pages in an object store.
-- The object store that has the bodies of pages, if any: PREPAINT_BODIES. packages/pages/src/store/bodies/body-store.ts.
create table body_store (
  is_only   boolean primary key default true check (is_only),
  -- Also stands in the store, in the object `prepaint-store`.
  id        text not null,
  -- Where nodes put new bodies: "prepaint bodies move" sets it.
  direction text not null default 'store' check (direction in ('store', 'database'))
);

-- Keys of objects that no row has. Until `at` a key is reserved: its object is being written. Afterwards it is condemned,
-- and the sweeper deletes its object.
create table body_gone (
  key text collate "C" primary key,
  at  timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0.02);
create index body_gone_at on body_gone (at);
alter table page
  alter column body_br drop not null,
  add body_key text collate "C",
  add body_bytes integer,
  add body_sum bytea,
  add body_foreign boolean not null default false,
  add body_late_at timestamptz;
alter table page_form
  alter column body_br drop not null,
  add body_key text collate "C",
  add body_bytes integer,
  add body_sum bytea,
  add body_foreign boolean not null default false,
  add body_late_at timestamptz;
