/** Write a moment, or a day, in the language of the page. */
export function when(moment: string, language: string): string {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(moment);
  const date = new Date(isDay ? `${moment}T00:00:00` : moment);
  if (Number.isNaN(date.getTime())) return moment;
  return new Intl.DateTimeFormat(language === "zh" ? "zh-CN" : "en-GB", {
    dateStyle: "medium",
    ...(isDay ? {} : { timeStyle: "short" }),
  }).format(date);
}
