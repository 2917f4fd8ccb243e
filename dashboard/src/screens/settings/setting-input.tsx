import { NativeSelect, NumberInput, Switch, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import type { DomainWithSettings } from '../../api/types.ts'
import type { SettingsPage } from '../../route-map.ts'
import { DURATION_HINT, limitsOf, plainPath } from './problems.ts'
import { PLAIN_FIELDS, type PlainField, type PlainSetting, type Section } from './setting-fields.ts'
import type { SettingsForm } from './values.ts'

type Props = { form: UseFormReturnType<SettingsForm>; domain: DomainWithSettings }

/** The inputs of all settings of a page, or of a section of it, in their order. */
export function SettingInputs({
  form,
  domain,
  page,
  section,
}: Props & { page: SettingsPage; section?: Section }) {
  const shown = PLAIN_FIELDS.filter(({ field }) => field.page === page && field.section === section)
  return shown.map(({ name, field }) => (
    <SettingInput key={name} form={form} domain={domain} name={name} field={field} />
  ))
}

function SettingInput({ form, domain, name, field }: Props & { name: PlainSetting; field: PlainField }) {
  const path = plainPath(name)
  const words = {
    id: name,
    label: field.label,
    description: descriptionOf(field, domain, form.values.plain[name]),
  }
  switch (field.kind) {
    case 'number':
      return <NumberInput {...words} {...limitsOf(name)} decimalScale={0} {...form.getInputProps(path)} />
    case 'duration':
      return (
        <TextInput
          {...words}
          placeholder={DURATION_HINT}
          spellCheck={false}
          autoComplete="off"
          {...form.getInputProps(path)}
        />
      )
    case 'switch':
      return <Switch {...words} {...form.getInputProps(path, { type: 'checkbox' })} />
    case 'choice':
      return <NativeSelect {...words} data={[...field.choices]} {...form.getInputProps(path)} />
  }
}

function descriptionOf(
  { description }: PlainField,
  domain: DomainWithSettings,
  value: SettingsForm['plain'][PlainSetting],
): string | undefined {
  return typeof description === 'function' ? description({ domain, value }) : description
}
