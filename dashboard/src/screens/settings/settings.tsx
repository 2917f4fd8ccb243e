import {
  Button,
  Checkbox,
  Group,
  NativeSelect,
  NumberInput,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { domainQuery, domainsQuery, domainUrl } from '../../api/queries.ts'
import { messageOf, request } from '../../api/request.ts'
import type { DomainWithSettings } from '../../api/types.ts'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { sayDone } from '../../parts/notifications.tsx'
import { Section } from '../../parts/page.tsx'
import { Refusal } from '../../parts/states.tsx'
import { count } from '../../parts/usage-bar.tsx'
import { ROUTES } from '../../route-map.ts'
import { originProblem } from '../domain/domain-fields.ts'
import { CrawlerRows } from './crawler-rows.tsx'
import { VisitorFields } from './fields.tsx'
import { forgetTyped, LeaveGuard } from './leave-guard.tsx'
import { OwnCertificate } from './own-certificate.tsx'
import { problemOfServer } from './problems.ts'
import { RuleRows } from './rows.tsx'
import classes from './settings.module.css'
import { aheadADay, CATEGORIES, formOf, type SettingsForm, settingsOf, settingsProblems } from './values.ts'

/** Keeps what has been typed until it is saved; what others change meanwhile does not reach into it. */
export function DomainSettings({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const queries = useQueryClient()
  const form = useForm<SettingsForm>({
    initialValues: formOf(domain),
    validateInputOnBlur: true,
    validate: (values) => settingsProblems(values, (origin) => originProblem(origin, name)),
  })
  const save = useMutation({
    mutationFn: (values: SettingsForm) =>
      request<{ domain: DomainWithSettings }>('PUT', domainUrl(name), {
        body: {
          // A check of the origin takes a moment, and can fail for reasons that are not of this change.
          ...(values.origin.trim() !== domain.origin_url && { origin_url: values.origin.trim() }),
          is_active: values.isActive,
          settings: settingsOf(values, domain.settings),
        },
      }),
    onSuccess: async ({ domain: saved }) => {
      queries.setQueryData(domainQuery(name).queryKey, saved)
      const values = formOf(saved)
      form.setInitialValues(values)
      form.setValues(values)
      form.resetDirty(values)
      sayDone('Saved: it counts from the next request on')
      await queries.invalidateQueries({ queryKey: domainsQuery.queryKey, exact: true })
    },
    onError: (error) => {
      const found = problemOfServer(messageOf(error))
      if (found === null) return
      form.setFieldError(found.field, found.problem)
      form.getInputNode(found.field)?.focus()
    },
  })
  const isDirty = form.isDirty()
  return (
    <Stack gap="lg">
      <form noValidate onSubmit={form.onSubmit((values) => save.mutate(values))}>
        <Stack gap="lg">
          <Section title="Site">
            <Stack className="form">
              <TextInput
                label="Origin"
                description="Where the site itself runs"
                spellCheck={false}
                required
                {...form.getInputProps('origin')}
              />
              <Switch
                label="Active"
                description="Off: crawlers get the origin, as people do; what is stored stays"
                {...form.getInputProps('isActive', { type: 'checkbox' })}
              />
              <Switch
                label="Send http to https"
                description="While a certificate is in use"
                {...form.getInputProps('httpsRedirect', { type: 'checkbox' })}
              />
            </Stack>
          </Section>
          <Section title="Freshness" lead="How old a page may become.">
            <Stack className="form">
              <NumberInput
                label="Fresh, in hours"
                description="Served without a second thought"
                min={0}
                decimalScale={2}
                {...form.getInputProps('freshHours')}
              />
              <NumberInput
                label="Then stale, in hours"
                description="Served, while it is rendered anew"
                min={0}
                decimalScale={2}
                {...form.getInputProps('staleHours')}
              />
              <NumberInput
                label="Kept, in days"
                description="For when the site or a render fails"
                min={0}
                decimalScale={2}
                {...form.getInputProps('keepDays')}
              />
              <Switch
                label="A deploy makes pages stale"
                description="Where several pages show that the application is another one. They are served on, and rendered when crawlers ask for them: that counts against the month"
                {...form.getInputProps('refreshesOnDeploy', { type: 'checkbox' })}
              />
              <NumberInput
                label="Refresh stale pages ahead, in percent of the month's renders"
                description={`Those that crawlers asked for last come first, before they ask again: at most ${count(aheadADay(domain, form.values.aheadPercent))} renders a day. 0 turns it off`}
                min={0}
                max={100}
                {...form.getInputProps('aheadPercent')}
              />
            </Stack>
          </Section>
          <Section title="Addresses" lead="Which query parameters make another page.">
            <Stack className="form">
              <NativeSelect
                label="Query"
                data={[
                  { value: 'keep', label: 'All but click tracking' },
                  { value: 'ignore', label: 'None' },
                  { value: 'list', label: 'Only those named' },
                ]}
                {...form.getInputProps('query')}
              />
              {form.values.query === 'list' && (
                <Textarea
                  label="Their names, one in each line"
                  autosize
                  minRows={2}
                  spellCheck={false}
                  {...form.getInputProps('queryNames')}
                />
              )}
            </Stack>
          </Section>
          <Section
            title="Path rules"
            lead="The first that matches counts, alone. * stands for any characters."
          >
            <RuleRows form={form} />
          </Section>
          <Section title="Crawlers" lead="Who gets finished pages. The others get the origin.">
            <Stack gap="sm">
              {CATEGORIES.map(({ category, label, description }) => (
                <Checkbox
                  key={category}
                  label={label}
                  description={description}
                  {...form.getInputProps(`rendered.${category}`, { type: 'checkbox' })}
                />
              ))}
            </Stack>
            <CrawlerRows form={form} />
          </Section>
          <Section title="Renders" lead="Whom the site sees when it is rendered. Empty: as everywhere.">
            <VisitorFields form={form} />
          </Section>
          <Section title="What is stored">
            <Stack gap="sm">
              <Checkbox
                label="Respect Cache-Control of the origin"
                description="Pages that it marks no-store or private are not stored"
                {...form.getInputProps('respectsCacheControl', { type: 'checkbox' })}
              />
              <Checkbox
                label="Refuse pages that read like “not found”"
                description="Where the site answers 200 to everything"
                {...form.getInputProps('refusesSoft404', { type: 'checkbox' })}
              />
            </Stack>
          </Section>
          <Refusal error={save.error} />
          <Group className={classes.save} data-dirty={isDirty || undefined}>
            <Button type="submit" loading={save.isPending} disabled={!isDirty}>
              Save
            </Button>
            <Button variant="default" disabled={!isDirty} onClick={() => form.reset()}>
              Undo changes
            </Button>
            <Text size="sm" className="quiet" role="status">
              {isDirty ? 'Not saved yet' : ''}
            </Text>
          </Group>
        </Stack>
      </form>
      <LeaveGuard isDirty={isDirty} />
      <OwnCertificate name={name} />
      <DeleteDomain domain={domain} />
    </Stack>
  )
}

function DeleteDomain({ domain: { custom_domain: name } }: { domain: DomainWithSettings }) {
  const [isAsking, setAsking] = useState(false)
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  return (
    <Section
      title="Delete this domain"
      lead="With all that is stored for it. To stop for a while, switch it off instead."
      actions={
        <Button color="red" variant="outline" onClick={() => setAsking(true)}>
          Delete
        </Button>
      }
    >
      {isAsking && (
        <ConfirmDialog
          title={`Delete ${name}?`}
          typed={name}
          label="Delete the domain"
          onClose={() => setAsking(false)}
          run={async () => {
            await request('DELETE', domainUrl(name))
            sayDone(`${name} is deleted`)
            forgetTyped()
            navigate(ROUTES.domains)
            queries.removeQueries({ queryKey: ['domains', name] })
            await queries.invalidateQueries({ queryKey: domainsQuery.queryKey, exact: true })
          }}
        >
          <Text size="sm" component="div">
            At once, and for good:
            <ul>
              <li>Whoever still comes here by this name, people too, gets an error: change the DNS first.</li>
              <li>All its stored pages, its certificate, settings and webhook tokens are deleted.</li>
              <li>Anybody can register the name again.</li>
            </ul>
          </Text>
        </ConfirmDialog>
      )}
    </Section>
  )
}
