import {
  Alert,
  Anchor,
  Button,
  Group,
  NativeSelect,
  NumberInput,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { VIEWPORT_SIDE } from '@prepaint/contract/rules/schema.ts'
import { Link } from 'wouter'
import { Section } from '../../parts/page.tsx'
import { type SettingsPage, settingsPath } from '../../route-map.ts'
import { CrawlerPolicy } from './crawler-policy.tsx'
import type { SectionProps } from './form-page.tsx'
import { IndexNowState, SitemapLink } from './indexnow-state.tsx'
import { PhonesSection } from './phones.tsx'
import { plainPath } from './problems.ts'
import { CrawlerRows, RuleRows } from './rows.tsx'
import { SettingInputs } from './setting-input.tsx'
import { TryRules } from './try-rules.tsx'
import { BROWSER_DEFAULTS, type SettingsForm } from './values.ts'

type Form = UseFormReturnType<SettingsForm>

/** The pages that are a form, with what each shows. */
export const FORM_PAGES: Partial<Record<SettingsPage, React.ComponentType<SectionProps>>> = {
  site: SitePage,
  freshness: FreshnessPage,
  paths: PathsPage,
  crawlers: CrawlersPage,
  rendering: RenderingPage,
  forms: FormsPage,
  sitemap: SitemapPage,
}

function SitePage({ form, domain }: SectionProps) {
  return (
    <Section title="Site">
      <Stack className="form">
        <TextInput
          id="origin_url"
          label="Origin"
          description="The URL of the server of your site"
          spellCheck={false}
          required
          {...form.getInputProps('origin')}
        />
        <Switch
          id="is_active"
          label="Active"
          description="Off is “Paused” in the list of sites: crawlers get the answer of the origin, like people. Cached pages are kept."
          {...form.getInputProps('isActive', { type: 'checkbox' })}
        />
        {domain.is_active && !form.values.isActive && <PauseWarning domain={domain.custom_domain} />}
        <SettingInputs form={form} domain={domain} page="site" />
      </Stack>
    </Section>
  )
}

/** Owners pause a site to take it out of the index, which it does not do. */
function PauseWarning({ domain }: { domain: string }) {
  return (
    <Alert color="yellow">
      <Text size="sm">
        While the site is paused, crawlers see pages before their JavaScript has run, which may be empty. This
        takes no page out of search. To do that, answer{' '}
        <Anchor component={Link} href={settingsPath(domain, 'paths', 'rules')} underline="always">
          410 by a path rule
        </Anchor>
        , or{' '}
        <Anchor component={Link} href={settingsPath(domain, 'crawlers', 'categories')} underline="always">
          block kinds of crawlers
        </Anchor>
        .
      </Text>
    </Alert>
  )
}

function FreshnessPage({ form, domain }: SectionProps) {
  return (
    <Section title="Freshness" lead="How old a page may become.">
      <Stack className="form">
        <SettingInputs form={form} domain={domain} page="freshness" />
        <Text size="sm">
          <Anchor
            component={Link}
            href={settingsPath(domain.custom_domain, 'paths', 'rules')}
            underline="always"
          >
            Freshness of single paths
          </Anchor>{' '}
          is set by rules.
        </Text>
      </Stack>
    </Section>
  )
}

function PathsPage({ form, domain }: SectionProps) {
  return (
    <>
      <QuerySection form={form} />
      <Section
        id="rules"
        title="Path rules"
        lead="Only the first matching rule applies. * matches any characters."
      >
        <RuleRows form={form} />
        <TryRules form={form} domain={domain} />
      </Section>
    </>
  )
}

function QuerySection({ form }: { form: Form }) {
  return (
    <Section id="query" title="Query parameters" lead="Which query parameters identify a different page.">
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

function CrawlersPage({ form, domain }: SectionProps) {
  return (
    <>
      <CrawlerPolicy form={form} name={domain.custom_domain} />
      <Section
        id="crawlers"
        title="Who is a crawler"
        lead="Crawlers that Prepaint does not know yet, and programs that it takes for crawlers."
      >
        <CrawlerRows form={form} />
      </Section>
    </>
  )
}

function RenderingPage({ form, domain }: SectionProps) {
  return (
    <>
      <BrowserSection form={form} />
      <Section title="Waits" lead="Wait for an element, or block hosts, by a rule under Paths.">
        <Stack className="form">
          <SettingInputs form={form} domain={domain} page="rendering" section="waits" />
        </Stack>
      </Section>
      <Section title="Pages that are not stored">
        <Stack className="form">
          <SettingInputs form={form} domain={domain} page="rendering" section="storing" />
          {form.values.plain.soft_404 === 'refuse' && <OfferToAnswer form={form} />}
        </Stack>
      </Section>
    </>
  )
}

function BrowserSection({ form }: { form: Form }) {
  return (
    <Section
      id="render"
      title="Browser"
      lead="How the rendering browser presents itself to the site. Empty: what stands in the field. User agent and viewport are for desktops."
    >
      <Stack className="form">
        <TextInput
          label="User agent"
          placeholder={BROWSER_DEFAULTS.userAgent}
          spellCheck={false}
          {...form.getInputProps('visitor.userAgent')}
        />
        <Group grow align="start">
          <ViewportSide form={form} side="width" other="height" label="Viewport width" />
          <ViewportSide form={form} side="height" other="width" label="Viewport height" />
        </Group>
        <Group grow align="start">
          <TextInput
            label="Locale"
            placeholder={BROWSER_DEFAULTS.locale}
            spellCheck={false}
            {...form.getInputProps('visitor.locale')}
          />
          <TextInput
            label="Time zone"
            placeholder={BROWSER_DEFAULTS.timeZone}
            spellCheck={false}
            {...form.getInputProps('visitor.timeZone')}
          />
        </Group>
      </Stack>
    </Section>
  )
}

type Side = 'width' | 'height'

/** Both sides or none are given: an error at the other side goes with a keystroke at this one. */
function ViewportSide(props: { form: Form; side: Side; other: Side; label: string }) {
  const { form, side, other, label } = props
  const { onChange, ...input } = form.getInputProps(`visitor.${side}`)
  return (
    <NumberInput
      label={label}
      placeholder={BROWSER_DEFAULTS[side]}
      {...VIEWPORT_SIDE}
      {...input}
      onChange={(value) => {
        form.clearFieldError(`visitor.${other}`)
        onChange(value)
      }}
    />
  )
}

/** Domains of earlier versions let the site answer for missing pages. New ones answer 404. */
function OfferToAnswer({ form }: { form: Form }) {
  return (
    <Alert color="yellow">
      <Group justify="space-between" gap="sm">
        <Text size="sm" flex={1} miw={220}>
          Crawlers are told that missing pages exist, if your site answers them with status 200. Sites that
          are added now answer 404.
        </Text>
        <Button
          size="xs"
          variant="default"
          onClick={() => form.setFieldValue(plainPath('soft_404'), 'answer')}
        >
          Choose 404
        </Button>
      </Group>
    </Alert>
  )
}

function FormsPage({ form, domain }: SectionProps) {
  return (
    <>
      <Section title="Markdown and cards" lead="Other forms of a page, made from its rendered HTML.">
        <Stack className="form">
          <SettingInputs form={form} domain={domain} page="forms" />
        </Stack>
      </Section>
      <PhonesSection form={form} domain={domain} />
    </>
  )
}

function SitemapPage({ form, domain }: SectionProps) {
  return (
    <>
      <Section
        title="Sitemap"
        lead="Lists pages that were rendered with status 200, may be indexed, and are not redirected."
      >
        <SettingInputs form={form} domain={domain} page="sitemap" />
        <SitemapLink name={domain.custom_domain} />
      </Section>
      <Section title="IndexNow" lead="Tells Bing, Yandex and others of pages that appear, change or go.">
        <SettingInputs form={form} domain={domain} page="sitemap" section="indexnow" />
        <IndexNowState domain={domain} />
      </Section>
    </>
  )
}
