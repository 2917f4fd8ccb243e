import { Alert, Button, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { updateDomainAnswer } from '@prepaint/contract/api/domain.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import type { z } from 'zod'
import { ApiError } from '../../api/api-error.ts'
import { domainQuery, domainsQuery, domainUrl } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { DomainWithSettings } from '../../api/types.ts'
import { counted } from '../../format.ts'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { EditForm } from '../../parts/edit-form.tsx'
import { discardChanges } from '../../parts/leave-guard.tsx'
import { notifyDone, notifyFailed } from '../../parts/notifications.tsx'
import { Section } from '../../parts/page.tsx'
import { ROUTES } from '../../route-map.ts'
import { originProblem } from '../domain/domain-fields.ts'
import { Versions } from '../site-files/versions.tsx'
import { SettingsSections } from './fields.tsx'
import { OriginAccess } from './origin-access.tsx'
import { OwnCertificate } from './own-certificate.tsx'
import { settingsProblems, shownProblem } from './problems.ts'
import { formOf, type SettingsForm, settingsOf } from './values.ts'

export default function DomainSettings({ domain }: { domain: DomainWithSettings }) {
  const [restored, setRestored] = useState(0)
  return <SettingsScreen key={restored} domain={domain} onRestored={() => setRestored(restored + 1)} />
}

/** Edits stay until they are saved, even if the domain changes elsewhere meanwhile. */
function SettingsScreen({ domain, onRestored }: { domain: DomainWithSettings; onRestored: () => void }) {
  const { form, save } = useSettingsForm(domain)
  const isDirty = form.isDirty()
  return (
    <Stack gap="lg">
      <EditForm
        isDirty={isDirty}
        sent={{ ...save, error: withoutFields(save.error, form.values) }}
        onSubmit={form.onSubmit((values) => save.mutate(values))}
        onUndo={() => form.reset()}
      >
        <SettingsSections form={form} domain={domain} />
        {save.data !== undefined && !isDirty && <RulesAnswer name={domain.custom_domain} saved={save.data} />}
      </EditForm>
      <Versions
        domain={domain.custom_domain}
        kind="rules"
        title="Versions of the path rules"
        isOff={isDirty}
        onRestored={onRestored}
      />
      <OriginAccess domain={domain} />
      <OwnCertificate name={domain.custom_domain} />
      <DeleteDomain domain={domain} />
    </Stack>
  )
}

type Saved = z.infer<typeof updateDomainAnswer>

/** What to know about rules that were saved just now. */
function RulesAnswer({ name, saved }: { name: string; saved: Saved }) {
  const { domain, outdated_pages: outdated = 0 } = saved
  const warnings = (saved.warnings ?? []).filter((warning) => 'rule' in warning)
  const refresh = useMutation({
    mutationFn: () =>
      request<Saved>('PUT', `${domainUrl(name)}?refresh=true`, {
        body: { settings: { rules: domain.settings.rules } },
      }),
    onSuccess: () =>
      notifyDone('These pages are stale now: each is rendered again after its next crawler visit.'),
    onError: (error) => notifyFailed('The pages were not made stale', error),
  })
  if (warnings.length === 0 && outdated === 0) return null
  return (
    <Alert color="yellow" title="Saved, with notes about your rules">
      <Stack gap="xs" align="start">
        {warnings.map(({ rule, covered_by: by }) => (
          <Text size="sm" key={rule}>
            Rule {rule + 1} never applies: rule {by + 1} matches the same pages first.
          </Text>
        ))}
        {outdated > 0 && (
          <>
            <Text size="sm">
              {counted(outdated, 'page')} {outdated === 1 ? 'was' : 'were'} made before this change. They are
              served until they are stale.
            </Text>
            <Button
              size="xs"
              variant="default"
              loading={refresh.isPending}
              disabled={refresh.isSuccess}
              onClick={() => refresh.mutate()}
            >
              Mark stale
            </Button>
          </>
        )}
      </Stack>
    </Alert>
  )
}

/** Problems that stand at their fields are not repeated below the form. */
function withoutFields(error: unknown, values: SettingsForm): unknown {
  if (!(error instanceof ApiError)) return error
  const others = error.problems.filter((problem) => shownProblem(problem, values) === null)
  if (others.length === error.problems.length) return error
  if (others.length > 0) return new ApiError(error.status, error.message, { problems: others })
  return new ApiError(error.status, 'Nothing was saved. Mend the marked fields.')
}

function useSettingsForm(domain: DomainWithSettings) {
  const name = domain.custom_domain
  const queries = useQueryClient()
  const form = useForm<SettingsForm>({
    initialValues: formOf(domain),
    validateInputOnBlur: true,
    validate: (values) => settingsProblems(values, (origin) => originProblem(origin, name)),
  })
  const save = useMutation({
    mutationFn: (values: SettingsForm) => {
      const origin = values.origin.trim()
      return request<Saved>('PUT', domainUrl(name), {
        body: {
          // Sent only if changed: the server connects to the origin, which is slow and can fail.
          origin_url: origin === domain.origin_url ? undefined : origin,
          is_active: values.isActive,
          settings: settingsOf(values),
        },
      })
    },
    onSuccess: async ({ domain: saved }) => {
      queries.setQueryData(domainQuery(name).queryKey, saved)
      const values = formOf(saved)
      form.setInitialValues(values)
      form.setValues(values)
      form.resetDirty(values)
      notifyDone('Saved. The settings apply from the next request.')
      await queries.invalidateQueries({ queryKey: domainsQuery.queryKey, exact: true })
    },
    onError: (error, values) => {
      const problems = error instanceof ApiError ? error.problems : []
      const shown = problems.flatMap((problem) => shownProblem(problem, values) ?? [])
      for (const { field, text } of shown.toReversed()) form.setFieldError(field, text)
      const [first] = shown
      if (first !== undefined) form.getInputNode(first.field)?.focus()
    },
  })
  return { form, save }
}

function DeleteDomain({ domain: { custom_domain: name } }: { domain: DomainWithSettings }) {
  const [isAsking, setAsking] = useState(false)
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  return (
    <Section
      title="Delete this domain"
      lead="Including everything stored for it. To pause it instead, turn off “Active”."
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
            notifyDone(`${name} was deleted`)
            discardChanges()
            navigate(ROUTES.domains)
            queries.removeQueries({ queryKey: ['domains', name] })
            await queries.invalidateQueries({ queryKey: domainsQuery.queryKey, exact: true })
          }}
        >
          <Text size="sm" component="div">
            This takes effect immediately and cannot be undone:
            <ul>
              <li>
                All requests for this name, including those of people, get an error. Change the DNS first.
              </li>
              <li>Cached pages, certificate, settings and webhook tokens are deleted.</li>
              <li>Any account can add the name again.</li>
            </ul>
          </Text>
        </ConfirmDialog>
      )}
    </Section>
  )
}
