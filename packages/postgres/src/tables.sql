-- Rate limits of an account, for nodes of 0.2.0. Newer nodes use `rate`; it is dropped one release after 0.3.0.
create table account_rate (
  account_id integer not null references account on delete cascade,
  what       text not null,
  moments    timestamptz[] not null,
  primary key (account_id, what)
) with (fillfactor = 50);
