import { Anchor, Button, List, Stack, Text } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import { devicesQuery, domainUrl, inspectionQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { Devices, DomainWithSettings, PageVariant } from '../../api/types.ts'
import { count, counted } from '../../format.ts'
import { notifyDone, notifyFailed } from '../../parts/notifications.tsx'
import { Facts, Note, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { pagePath } from '../../route-map.ts'
import classes from '../page/inspection.module.css'
import { SettingInputs } from './setting-input.tsx'
import type { SettingsForm } from './values.ts'

/** What crawlers of phones get, and whether that makes a difference on this site. */
export function PhonesSection(props: { form: UseFormReturnType<SettingsForm>; domain: DomainWithSettings }) {
  const { form, domain } = props
  const name = domain.custom_domain
  const queries = useQueryClient()
  const devices = useQuery(devicesQuery(name))
  const check = useMutation({
    mutationFn: () => request('POST', `${domainUrl(name)}/devices/check`, { body: {} }),
    onSuccess: async () => {
      notifyDone('The pages are being rendered for both devices')
      await queries.invalidateQueries({ queryKey: devicesQuery(name).queryKey })
    },
    onError: (error) => notifyFailed('The pages were not compared', error),
  })
  return (
    <Section
      title="Phones"
      lead="Crawlers whose user agent names a phone. A page of their own counts as a second render."
      actions={
        <Button
          variant="default"
          size="xs"
          disabled={!domain.is_active}
          loading={check.isPending}
          onClick={() => check.mutate()}
        >
          Compare now
        </Button>
      }
    >
      <Stack className="form">
        <SettingInputs form={form} domain={domain} page="forms" section="phones" />
      </Stack>
      <Loaded query={devices} rows={1}>
        {(found) => <Finding found={found} />}
      </Loaded>
    </Section>
  )
}

function Finding({ found: { domain, finding, checked_at, pages } }: { found: Devices }) {
  if (finding === null) return <Note size="sm">No page was compared yet.</Note>
  const differing = pages.filter(({ alike }) => alike === false)
  const example = differing[0]
  return (
    <Stack gap="sm">
      <Text size="sm" role="status">
        {comparisonText(differing.length, pages.length)}
        {checked_at !== null && (
          <>
            , last compared <TimeText at={checked_at} />
          </>
        )}
        .
      </Text>
      {example !== undefined && (
        <>
          <List size="sm">
            {differing.map(({ path, differences }) => (
              <List.Item key={path} className="break">
                {path}: {differences.map((part) => part.replace('_', ' ')).join(', ')}
              </List.Item>
            ))}
          </List>
          <div className={classes.sides}>
            <Side domain={domain} path={example.path} variant="desktop" title="Desktops get" />
            <Side domain={domain} path={example.path} variant="mobile" title="Phones get" />
          </div>
        </>
      )}
    </Stack>
  )
}

function comparisonText(differing: number, compared: number): string {
  if (differing === 0) return `Desktops and phones got the same on ${counted(compared, 'compared page')}`
  return `Phones got another page than desktops on ${count(differing)} of ${counted(compared, 'compared page')}`
}

const SHOWN_LINES = 6

type SideProps = { domain: string; path: string; variant: PageVariant; title: string }

function Side({ domain, path, variant, title }: SideProps) {
  const { data, error } = useQuery(inspectionQuery(domain, path, variant))
  const facts = data?.facts
  return (
    <section aria-label={`${title} ${path}`}>
      <Stack gap={4}>
        <Anchor component={Link} href={pagePath(domain, path, { view: 'facts', variant })} size="sm" fw={600}>
          {title}
        </Anchor>
        {facts == null ? (
          <Note size="sm">
            {error === null && data === undefined ? '' : 'This page is no longer stored.'}
          </Note>
        ) : (
          <Facts
            rows={[
              ['Title', facts.title ?? 'none'],
              ['Text', `${count(facts.textChars)} characters`],
              ['Links', count(facts.linkCount)],
              ['Begins with', facts.text.slice(0, SHOWN_LINES).join(' · ')],
            ]}
          />
        )}
      </Stack>
    </section>
  )
}
