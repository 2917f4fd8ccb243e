-- Paths that no sitemap names any more are found by age, domain by domain: without it every look read all paths of all
-- sitemaps (a second for half a million), and past some fifteen millions it was cut off and removed nothing.
create index known_path_named on known_path (domain_id, seen_at) where source = 'sitemap';

-- What an account may do so many times in a while, over all nodes: when it did so. `what` names the limit; src/db/account-rate.ts.
create table account_rate (
  account_id integer not null references account on delete cascade,
  what       text not null,
  moments    timestamptz[] not null,
  primary key (account_id, what)
) with (fillfactor = 50);
