import { Anchor, Stack, Switch } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { indexNowQuery } from '../../api/site-file-queries.ts'
import type { DomainWithSettings, Settings } from '../../api/types.ts'
import { count } from '../../format.ts'
import { Facts, Section } from '../../parts/page.tsx'
import { Loaded, Refusal } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { useAskedSave } from './forbidden.tsx'

export function Sitemap({ domain }: { domain: DomainWithSettings }) {
  const { custom_domain: name, settings, indexnow_key: key } = domain
  const state = useQuery(indexNowQuery(name))
  const { save } = useAskedSave(name, { said: 'Saved' })
  const change = (changed: Partial<Settings>) => save.mutate({ settings: changed, crawlers: [] })
  return (
    <Stack gap="lg">
      <Refusal error={save.error} />
      <Section
        title="Sitemap"
        lead="Lists pages that were rendered with status 200, may be indexed, and are not redirected."
      >
        <Switch
          label="Generate /sitemap.xml"
          description="Replaces that file of your server. Added to robots.txt if Prepaint writes it."
          checked={settings.sitemap === 'generate'}
          disabled={save.isPending}
          onChange={(event) => change({ sitemap: event.currentTarget.checked ? 'generate' : 'origin' })}
        />
        <Outside href={`https://${name}/sitemap.xml`} />
      </Section>
      <Section title="IndexNow" lead="Tells Bing, Yandex and others of pages that appear, change or go.">
        <Switch
          label="Tell search engines of changed pages"
          description="Gathered for ten seconds. Google does not take part."
          checked={settings.indexnow}
          disabled={save.isPending}
          onChange={(event) => change({ indexnow: event.currentTarget.checked })}
        />
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
      </Section>
    </Stack>
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
