-- How the site looks where there is no page, if it looks like one, and its owner lets pages be judged by it.
select probe.finding
  from probe join domain on domain.id = probe.domain_id
 where probe.domain_id = $1 and probe.finding->>'kind' = 'soft'
   and coalesce(domain.settings->>'soft_404', 'refuse') = 'refuse'
