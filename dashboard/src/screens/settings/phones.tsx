import { Anchor, Button, List, NativeSelect, Stack, Text } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import { devicesQuery, domainUrl, inspectionQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { Devices, DomainWithSettings, PageVariant } from '../../api/types.ts'
import { count } from '../../format.ts'
import { notifyDone, notifyFailed } from '../../parts/notifications.tsx'
import { Facts, Note, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { pagePath } from '../../route-map.ts'
import classes from '../page/inspection.module.css'
import type { SettingsForm } from './values.ts'

const CHOICES = [
  { value: 'one', label: 'The same pages as desktops' },
  { value: 'both', label: 'Pages of their own, always' },
  { value: 'auto', label: 'Pages of their own where they differ' },
]

/** What crawlers of phones get, and whether that makes a difference on this site. */
export function Phones(props: { form: UseFormReturnType<SettingsForm>; domain: DomainWithSettings }) {
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
        <NativeSelect label="Phones get" data={CHOICES} {...form.getInputProps('devices')} />
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
        {example === undefined
          ? `Desktops and phones got the same on ${count(pages.length)} compared pages`
          : `Phones got another page than desktops on ${count(differing.length)} of ${count(pages.length)} compared pages`}
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
                {path}: {differences.map((each) => each.replace('_', ' ')).join(', ')}
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
