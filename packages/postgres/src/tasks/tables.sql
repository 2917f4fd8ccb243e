-- Background work beside the render queue: when each task is due, which node works on it, and until when. What the work is
-- about stays in the tables of its owner. packages/postgres/src/tasks/tasks.ts.
create table task (
  kind        text not null,
  -- Names the work within the kind: at most one task of a kind and key exists.
  key         text not null,
  -- 0: it belongs to no account.
  account_id  integer not null default 0,
  payload     jsonb not null default '{}',
  due_at      timestamptz not null default clock_timestamp(),
  -- Runs in a row that failed, or whose node died.
  failures    integer not null default 0,
  -- Of the node that works on it; null: no node does.
  lease       uuid,
  -- In the past: the node died, and another one takes the task.
  lease_until timestamptz,
  -- It was asked for while a node worked on it: it is due again then.
  asked_again timestamptz,
  primary key (kind, key)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
create index task_due on task (kind, due_at) where lease is null;
create index task_turn on task (kind, account_id, (failures > 0), due_at) where lease is null;
create index task_leased on task (kind, lease_until) where lease is not null;
