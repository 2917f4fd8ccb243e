import {
  Anchor,
  Checkbox,
  Group,
  NativeSelect,
  NumberInput,
  Stack,
  Switch,
  Textarea,
  TextInput,
} from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { VIEWPORT_SIDE } from '@prepaint/contract/rules/schema.ts'
import { Link } from 'wouter'

import type { DomainWithSettings } from '../../api/types.ts'
import { count } from '../../format.ts'
import { Section } from '../../parts/page.tsx'
import { domainPath } from '../../route-map.ts'
import { Phones } from './phones.tsx'
import { AHEAD_PERCENT, WAIT_SECONDS } from './problems.ts'
import { CrawlerRows, RuleRows } from './rows.tsx'
import { TryRules } from './try-rules.tsx'
import { aheadPerDay, type SettingsForm } from './values.ts'

type Form = UseFormReturnType<SettingsForm>

export function SettingsSections({ form, domain }: { form: Form; domain: DomainWithSettings }) {
  return (
    <>
      <Section title="Site">
        <Stack className="form">
          <TextInput
            label="Origin"
            description="The URL of the server of your site"
            spellCheck={false}
            required
            {...form.getInputProps('origin')}
          />
          <Toggle
            {...{ form, name: 'isActive' }}
            label="Active"
            description="If off, crawlers get the origin, like people. Cached pages are kept."
          />
          <Toggle
            {...{ form, name: 'httpsRedirect' }}
            label="Redirect HTTP to HTTPS"
            description="While a certificate is in use"
          />
        </Stack>
      </Section>
      <Freshness form={form} domain={domain} />
      <QueryParameters form={form} />
      <Section title="Path rules" lead="Only the first matching rule applies. * matches any characters.">
        <RuleRows form={form} />
        <TryRules form={form} name={domain.custom_domain} />
      </Section>
      <Section
        title="Crawlers"
        lead={
          <>
            Who is a crawler. What each kind gets is chosen under{' '}
            <Anchor
              component={Link}
              href={domainPath('domainCrawlers', domain.custom_domain)}
              underline="always"
            >
              crawlers
            </Anchor>
            .
          </>
        }
      >
        <CrawlerRows form={form} />
      </Section>
      <Phones form={form} domain={domain} />
      <RenderingBrowser form={form} />
      <Section title="Caching">
        <Stack gap="sm">
          <Checkbox
            label="Respect the Cache-Control header of the origin"
            description="Pages marked no-store or private are not cached"
            {...form.getInputProps('respectsCacheControl', { type: 'checkbox' })}
          />
          <NativeSelect
            className="form"
            label="Pages with status 200 that look like “not found” (soft_404)"
            data={[
              { value: 'refuse', label: 'refuse: not cached; your server answers' },
              { value: 'answer', label: 'answer: cached, and given to crawlers with status 404' },
              { value: 'store', label: 'store: cached like any other page' },
            ]}
            {...form.getInputProps('soft404')}
          />
        </Stack>
      </Section>
    </>
  )
}

function Toggle(props: { form: Form; name: string; label: string; description: string }) {
  const { form, name, label, description } = props
  return (
    <Switch label={label} description={description} {...form.getInputProps(name, { type: 'checkbox' })} />
  )
}

function Freshness({ form, domain }: { form: Form; domain: DomainWithSettings }) {
  const ages = [
    ['freshHours', 'Fresh, in hours', 'Served from the cache'],
    ['staleHours', 'Then stale, in hours', 'Served from the cache while it is rendered again'],
    ['keepDays', 'Kept, in days', 'Served if the origin or the render fails'],
  ] as const
  return (
    <Section title="Freshness" lead="How old a page may become.">
      <Stack className="form">
        {ages.map(([name, label, description]) => (
          <NumberInput
            key={name}
            label={label}
            description={description}
            min={0}
            decimalScale={2}
            {...form.getInputProps(name)}
          />
        ))}
        <NumberInput
          label="Longest wait of a crawler, in seconds"
          description="For a render and then for your server. After that, a crawler gets the last good copy or an error 504."
          {...WAIT_SECONDS}
          {...form.getInputProps('crawlerWaitSeconds')}
        />
        <Toggle
          {...{ form, name: 'refreshesOnDeploy' }}
          label="A deploy makes pages stale"
          description="When several pages load new script bundles, older pages become stale. They are still served, and are rendered again on the next crawler visit, which counts against the month."
        />
        <NumberInput
          label="Refresh stale pages early, in percent of the month's renders"
          description={`Before the next crawler visit, recently visited pages first. At most ${count(aheadPerDay(domain, form.values.aheadPercent))} renders a day; 0 turns it off.`}
          {...AHEAD_PERCENT}
          {...form.getInputProps('aheadPercent')}
        />
      </Stack>
    </Section>
  )
}

function QueryParameters({ form }: { form: Form }) {
  return (
    <Section title="Query parameters" lead="Which query parameters identify a different page.">
      <Stack className="form">
        <NativeSelect
          label="Parameters"
          data={[
            { value: 'keep', label: 'All except click tracking' },
            { value: 'ignore', label: 'None' },
            { value: 'list', label: 'Only these' },
          ]}
          {...form.getInputProps('query')}
        />
        {form.values.query === 'list' && (
          <Textarea
            label="Names, one per line"
            autosize
            minRows={2}
            spellCheck={false}
            {...form.getInputProps('queryNames')}
          />
        )}
      </Stack>
    </Section>
  )
}

function RenderingBrowser({ form }: { form: Form }) {
  const text = (name: string, label: string, placeholder: string) => (
    <TextInput
      label={label}
      placeholder={placeholder}
      spellCheck={false}
      {...form.getInputProps(`visitor.${name}`)}
    />
  )
  const side = (name: string, label: string, placeholder: string) => (
    <NumberInput
      label={label}
      placeholder={placeholder}
      {...VIEWPORT_SIDE}
      {...form.getInputProps(`visitor.${name}`)}
    />
  )
  return (
    <Section
      title="Browser"
      lead="How the rendering browser presents itself to the site. Empty: the default. User agent and viewport are for desktops."
    >
      <Stack className="form">
        {text('userAgent', 'User agent', 'that of Chromium, followed by Prepaint')}
        <Group grow align="start">
          {side('width', 'Viewport width', '1280')}
          {side('height', 'Viewport height', '1024')}
        </Group>
        <Group grow align="start">
          {text('locale', 'Locale', 'en-US')}
          {text('timeZone', 'Time zone', 'UTC')}
        </Group>
      </Stack>
    </Section>
  )
}
