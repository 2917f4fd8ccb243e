-- Pages whose last render was refused, such as soft 404s: they pass without a render until `refused_at` and the wait.
-- packages/pages/src/store/refused-pages.ts.
create table refused_page (
  domain_id    integer not null references domain on delete cascade,
  -- The domain's account: its pages share a limit.
  account_id   integer not null,
  path         text collate "C" not null,
  variant      text not null check (variant in ('desktop', 'mobile')),
  -- As in `page`: another rule may render the page.
  rule_effect  text not null,
  outcome      text not null,
  refused_at   timestamptz not null,
  wait_seconds integer not null,
  primary key (domain_id, path, variant, rule_effect)
) with (autovacuum_vacuum_scale_factor = 0.02);
create index refused_page_account on refused_page (account_id, refused_at);

-- The default of new domains is `answer`: those that exist keep `refuse`.
update domain set settings = settings || '{"soft_404": "refuse"}' where not settings ? 'soft_404';
