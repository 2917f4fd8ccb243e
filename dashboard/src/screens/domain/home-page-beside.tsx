import { useQuery } from '@tanstack/react-query'
import { inspectionQuery, isUnderWay } from '../../api/queries.ts'
import { Section } from '../../parts/page.tsx'
import { Screenshots } from '../page/compare.tsx'

/** The rendered home page beside that of people, if both were photographed when the site was added. */
export default function HomePageBeside({ domain }: { domain: string }) {
  const { data } = useQuery(inspectionQuery(domain, '/'))
  const inspection = data?.inspection ?? null
  if (inspection === null || isUnderWay(inspection) || inspection.state === 'failed') return null
  return (
    <Section
      title="Your home page, for crawlers and for people"
      lead="Crawlers get the left one as soon as their requests come here."
    >
      <Screenshots name={domain} inspection={inspection} />
    </Section>
  )
}
