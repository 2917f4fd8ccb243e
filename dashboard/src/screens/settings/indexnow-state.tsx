import { Anchor } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { indexNowQuery } from '../../api/site-file-queries.ts'
import type { DomainWithSettings } from '../../api/types.ts'
import { count } from '../../format.ts'
import { Facts } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'

export function SitemapLink({ name }: { name: string }) {
  return <Outside href={`https://${name}/sitemap.xml`} />
}

/** The file that proves to search engines who sends, and what was sent last. */
export function IndexNowState({
  domain: { custom_domain: name, settings, indexnow_key: key },
}: {
  domain: DomainWithSettings
}) {
  const state = useQuery(indexNowQuery(name))
  return (
    <>
      {key !== null && settings.indexnow && <Outside href={`https://${name}/${key}.txt`} />}
      <Loaded query={state} rows={1}>
        {({ waiting, sent_at: at, status }) => (
          <Facts
            rows={[
              ['Pages waiting', count(waiting)],
              ['Last batch', <TimeText key="at" at={at} />],
              ['Its answer', answerOf(status)],
            ]}
          />
        )}
      </Loaded>
    </>
  )
}

function Outside({ href }: { href: string }) {
  return (
    <Anchor href={href} size="sm" className="break" target="_blank" rel="noopener noreferrer">
      {href}
    </Anchor>
  )
}

function answerOf(status: number | null): string {
  if (status === null) return 'none'
  if (status < 300) return `${status}: accepted`
  return [400, 403, 422].includes(status) ? `${status}: refused` : `${status}: tried again for a day`
}
