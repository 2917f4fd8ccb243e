import type { PortfolioDomain } from '../../api/types.ts'
import { crawlerName } from '../../crawler-categories.ts'
import { count, differenceToWeekBefore, percent } from '../../format.ts'
import { Tiles } from '../../parts/tiles.tsx'
import { TimeText } from '../../parts/time-text.tsx'

/** What crawlers did at a site in the last seven days. There is nothing to show before the first one came. */
export function WeekFigures({ site }: { site: PortfolioDomain }) {
  const { visits, hit_ratio: hits, renders, last_crawler: last } = site
  if (last === null && visits.total === 0) return null
  return (
    <Tiles
      tiles={[
        {
          name: 'Crawler visits in 7 days',
          value: count(visits.total),
          note: differenceToWeekBefore(visits.total, visits.before) || 'none in the week before',
        },
        { name: 'Hit ratio', value: percent(hits), note: 'of page visits in 7 days' },
        {
          name: 'Renders this month',
          value: count(renders.used),
          note: `of ${count(renders.limit)}`,
        },
        {
          name: 'Last crawler',
          value: last === null ? 'None' : crawlerName(last.name),
          note: last === null ? undefined : <TimeText at={last.at} />,
        },
      ]}
    />
  )
}
