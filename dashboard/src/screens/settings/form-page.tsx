import { Alert, Button, Stack, Text } from '@mantine/core'
import { type UseFormReturnType, useForm } from '@mantine/form'
import type { updateDomainAnswer } from '@prepaint/contract/api/domain.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import type { z } from 'zod'
import { ApiError } from '../../api/api-error.ts'
import { domainQuery, domainsQuery, domainUrl } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { DomainWithSettings } from '../../api/types.ts'
import { counted } from '../../format.ts'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { EditForm } from '../../parts/edit-form.tsx'
import { notifyDone, notifyFailed } from '../../parts/notifications.tsx'
import { useSeekError } from '../../parts/seek-error.ts'
import type { SettingsPage } from '../../route-map.ts'
import { originProblem } from '../domain/domain-fields.ts'
import { ForbidsSite, SEARCH_CRAWLERS } from '../site-files/forbidden.tsx'
import { Versions } from '../site-files/versions.tsx'
import { shutsOutSearch } from './crawler-policy.tsx'
import { problemInWords, settingsProblems, shownProblem } from './problems.ts'
import { formOf, type SettingsForm, settingsOf } from './values.ts'

export type SectionProps = { form: UseFormReturnType<SettingsForm>; domain: DomainWithSettings }

/** What was saved here before, and can be restored. */
const VERSIONS = {
  paths: { kind: 'rules', title: 'Versions of the path rules' },
  crawlers: { kind: 'policy', title: 'Versions' },
} as const satisfies Partial<Record<SettingsPage, object>>

type Props = {
  domain: DomainWithSettings
  page: SettingsPage
  Sections: React.ComponentType<SectionProps>
}

/** A page of settings with its own save bar: it sends only what it shows. */
export function FormPage({ domain, page, Sections }: Props) {
  const { form, save, asked, setAsked, submit } = useSettingsForm(domain, page)
  const isDirty = form.isDirty()
  const versions = page in VERSIONS ? VERSIONS[page as keyof typeof VERSIONS] : null
  return (
    <Stack gap="lg">
      <EditForm
        isDirty={isDirty}
        sent={{ ...save, error: withoutFields(save.error, form.values, page) }}
        onSubmit={submit}
        onUndo={() => {
          form.reset()
          save.reset()
        }}
        note={
          (save.data?.outdated_pages ?? 0) > 0 &&
          !isDirty && <OutdatedPages key={save.submittedAt} name={domain.custom_domain} saved={save.data!} />
        }
      >
        <Sections form={form} domain={domain} />
        {save.data !== undefined && !isDirty && <UnusedRules saved={save.data} />}
      </EditForm>
      {versions !== null && <Versions domain={domain.custom_domain} {...versions} isOff={isDirty} />}
      {asked !== null && page === 'site' && (
        <ConfirmDialog
          title={`Pause ${domain.custom_domain}?`}
          label="Pause and save"
          run={() => save.mutateAsync(asked)}
          onClose={() => setAsked(null)}
        >
          From the next request on, crawlers get what the origin answers, like people: pages that need
          JavaScript may be empty for them. Nothing is rendered until you switch the site on again. Stored
          pages are kept.
        </ConfirmDialog>
      )}
      {asked !== null && page !== 'site' && (
        <ConfirmDialog
          title="Shut out search engines?"
          label="Save anyway"
          run={() => save.mutateAsync(asked)}
          onClose={() => setAsked(null)}
        >
          <ForbidsSite crawlers={SEARCH_CRAWLERS} />
        </ConfirmDialog>
      )}
    </Stack>
  )
}

type Saved = z.infer<typeof updateDomainAnswer>

/** Rules that never apply, as far as that can be told from them. */
function UnusedRules({ saved }: { saved: Saved }) {
  const warnings = (saved.warnings ?? []).filter((warning) => 'rule' in warning)
  if (warnings.length === 0) return null
  return (
    <Alert color="yellow" title="Saved, with notes about your rules">
      <Stack gap="xs">
        {warnings.map(({ rule, covered_by: by }) => (
          <Text size="sm" key={rule}>
            Rule {rule + 1} never applies: rule {by + 1} matches the same pages first.
          </Text>
        ))}
      </Stack>
    </Alert>
  )
}

/** Stands in the save bar after rules were saved under which stored pages would look different. */
function OutdatedPages({ name, saved }: { name: string; saved: Saved }): ReactNode {
  const { domain, outdated_pages: outdated = 0 } = saved
  const refresh = useMutation({
    mutationFn: () =>
      request<Saved>('PUT', `${domainUrl(name)}?refresh=true`, {
        body: { settings: { rules: domain.settings.rules } },
      }),
    onSuccess: () =>
      notifyDone('These pages are stale now: each is rendered again after its next crawler visit.'),
    onError: (error) => notifyFailed('The pages were not made stale', error),
  })
  if (outdated === 0 || refresh.isSuccess) return null
  return (
    <>
      <Text size="sm" role="status">
        {counted(outdated, 'page')} {outdated === 1 ? 'was' : 'were'} made under other rules
      </Text>
      <Button size="xs" variant="default" loading={refresh.isPending} onClick={() => refresh.mutate()}>
        Mark stale
      </Button>
    </>
  )
}

/** Problems that stand at their fields are not repeated below the form; others are told in words. */
function withoutFields(error: unknown, values: SettingsForm, page: SettingsPage): unknown {
  if (!(error instanceof ApiError) || error.problems.length === 0) return error
  const others = error.problems.filter((problem) => shownProblem(problem, values, page) === null)
  const text = others.length === 0 ? 'Correct the marked fields.' : others.map(problemInWords).join(' ')
  return new ApiError(error.status, `Nothing was saved. ${text}`)
}

/** Edits stay until they are saved, even if the domain changes elsewhere meanwhile. */
function useSettingsForm(domain: DomainWithSettings, page: SettingsPage) {
  const name = domain.custom_domain
  const queries = useQueryClient()
  const seekError = useSeekError()
  const [asked, setAsked] = useState<SettingsForm | null>(null)
  const form = useForm<SettingsForm>({
    initialValues: formOf(domain),
    validateInputOnBlur: true,
    validate: (values) => settingsProblems(values, page, (origin) => originProblem(origin, name)),
  })
  const show = (shown: DomainWithSettings) => {
    const values = formOf(shown)
    form.setInitialValues(values)
    form.setValues(values)
    form.resetDirty(values)
  }
  const stored = JSON.stringify(formOf(domain))
  // Only settings that were changed elsewhere are shown anew.
  useEffect(() => {
    if (!form.isDirty()) show(domain)
  }, [stored])
  const save = useMutation({
    mutationFn: (values: SettingsForm) =>
      request<Saved>('PUT', domainUrl(name), { body: bodyOf(values, page, domain) }),
    onSuccess: async ({ domain: saved }) => {
      queries.setQueryData(domainQuery(name).queryKey, saved)
      show(saved)
      notifyDone('Saved. The settings apply from the next request.')
      await queries.invalidateQueries({ queryKey: domainsQuery.queryKey, exact: true })
      await queries.invalidateQueries({ queryKey: ['domains', name, 'versions'] })
    },
    onError: (error, values) => {
      const problems = error instanceof ApiError ? error.problems : []
      for (const problem of problems.toReversed()) {
        const shown = shownProblem(problem, values, page)
        if (shown !== null) form.setFieldError(shown.field, shown.text)
      }
      seekError()
    },
  })
  const submit = form.onSubmit((values) => {
    const pauses = page === 'site' && domain.is_active && !values.isActive
    if (pauses || (page === 'crawlers' && shutsOutSearch(values.policy, domain.settings))) setAsked(values)
    else save.mutate(values)
  }, seekError)
  return { form, save, asked, setAsked, submit }
}

function bodyOf(values: SettingsForm, page: SettingsPage, domain: DomainWithSettings) {
  const settings = settingsOf(values, page)
  if (page !== 'site') return { settings }
  const origin = values.origin.trim()
  return {
    // Sent only if changed: the server connects to the origin, which is slow and can fail.
    origin_url: origin === domain.origin_url ? undefined : origin,
    is_active: values.isActive,
    settings,
  }
}
