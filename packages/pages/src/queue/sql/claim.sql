-- Both functions have their own snapshots (packages/pages/src/queue/functions.sql): the first locks before it reads, the second reads later.
select claimed.*, details.visitor, details.query, details.origin_cache_control, coalesce(details.is_probe, false) as is_probe,
       details.queued_ms, details.wait_left_ms, details.rules, details.crawler, details.tried,
       details.variant, coalesce(details.is_compared, false) as is_compared, details.sealed_headers, details.request_id, spelling_of(claimed.domain_id, claimed.path) as spelling
  from claim_jobs($1, $2, $3, $4, $5, $6, $7, $8 * interval '1 millisecond', $9, $10, $11) as claimed
  left join lateral claim_details(claimed.domain_id, claimed.job_id) as details on true
