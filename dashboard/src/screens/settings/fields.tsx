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

import type { DomainWithSettings } from '../../api/types.ts'
import { Section } from '../../parts/page.tsx'
import { domainPath } from '../../route-map.ts'
import { PhonesSection } from './phones.tsx'
import { plainPath } from './problems.ts'
import { CrawlerRows, RuleRows } from './rows.tsx'
import { SettingInputs } from './setting-input.tsx'
import { TryRules } from './try-rules.tsx'
import type { SettingsForm } from './values.ts'

type Form = UseFormReturnType<SettingsForm>
type Props = { form: Form; domain: DomainWithSettings }

/** All sections of the form, one under another. */
export function SettingsSections({ form, domain }: Props) {
  return (
    <>
      <SiteSection form={form} domain={domain} />
      <FreshnessSection form={form} domain={domain} />
      <QuerySection form={form} />
      <RulesSection form={form} domain={domain} />
      <CrawlersSection form={form} domain={domain} />
      <PhonesSection form={form} domain={domain} />
      <BrowserSection form={form} />
      <StoringSection form={form} domain={domain} />
    </>
  )
}

function SiteSection({ form, domain }: Props) {
  return (
    <Section title="Site">
      <Stack className="form">
        <TextInput
          label="Origin"
          description="The URL of the server of your site"
          spellCheck={false}
          required
          {...form.getInputProps('origin')}
        />
        <Switch
          label="Active"
          description="If off, crawlers get the origin, like people. Cached pages are kept."
          {...form.getInputProps('isActive', { type: 'checkbox' })}
        />
        <SettingInputs form={form} domain={domain} section="site" />
      </Stack>
    </Section>
  )
}

function FreshnessSection({ form, domain }: Props) {
  return (
    <Section title="Freshness" lead="How old a page may become.">
      <Stack className="form">
        <SettingInputs form={form} domain={domain} section="freshness" />
      </Stack>
    </Section>
  )
}

function QuerySection({ form }: { form: Form }) {
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

function RulesSection({ form, domain }: Props) {
  return (
    <Section title="Path rules" lead="Only the first matching rule applies. * matches any characters.">
      <RuleRows form={form} />
      <TryRules form={form} name={domain.custom_domain} />
    </Section>
  )
}

function CrawlersSection({ form, domain: { custom_domain: name } }: Props) {
  return (
    <Section
      title="Crawlers"
      lead={
        <>
          Who is a crawler. What each kind gets is chosen under{' '}
          <Anchor component={Link} href={domainPath('domainCrawlers', name)} underline="always">
            crawlers
          </Anchor>
          .
        </>
      }
    >
      <CrawlerRows form={form} />
    </Section>
  )
}

function BrowserSection({ form }: { form: Form }) {
  return (
    <Section
      title="Browser"
      lead="How the rendering browser presents itself to the site. Empty: the default. User agent and viewport are for desktops."
    >
      <Stack className="form">
        <TextInput
          label="User agent"
          placeholder="that of Chromium, followed by Prepaint"
          spellCheck={false}
          {...form.getInputProps('visitor.userAgent')}
        />
        <Group grow align="start">
          <ViewportSide form={form} side="width" other="height" label="Viewport width" placeholder="1280" />
          <ViewportSide form={form} side="height" other="width" label="Viewport height" placeholder="1024" />
        </Group>
        <Group grow align="start">
          <TextInput
            label="Locale"
            placeholder="en-US"
            spellCheck={false}
            {...form.getInputProps('visitor.locale')}
          />
          <TextInput
            label="Time zone"
            placeholder="UTC"
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
function ViewportSide(props: { form: Form; side: Side; other: Side; label: string; placeholder: string }) {
  const { form, side, other, label, placeholder } = props
  const { onChange, ...input } = form.getInputProps(`visitor.${side}`)
  return (
    <NumberInput
      label={label}
      placeholder={placeholder}
      {...VIEWPORT_SIDE}
      {...input}
      onChange={(value) => {
        form.clearFieldError(`visitor.${other}`)
        onChange(value)
      }}
    />
  )
}

function StoringSection({ form, domain }: Props) {
  return (
    <Section title="Caching">
      <Stack className="form">
        <SettingInputs form={form} domain={domain} section="storing" />
        {form.values.plain.soft_404 === 'refuse' && <OfferToAnswer form={form} />}
      </Stack>
    </Section>
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
