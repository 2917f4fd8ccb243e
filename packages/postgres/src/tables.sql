-- Rate limits of an account over all nodes: the times of its recent uses. `what` names the limit; packages/postgres/src/account-rate.ts.
create table account_rate (
  account_id integer not null references account on delete cascade,
  what       text not null,
  moments    timestamptz[] not null,
  primary key (account_id, what)
) with (fillfactor = 50);
