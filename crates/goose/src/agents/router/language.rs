//! Tells requests in English from others. The training examples are in English, so others go to the default agent.

use std::{collections::HashSet, sync::LazyLock};

use super::{lexicon, words::Word};

/// Frequent short words of English.
const ENGLISH: &str = " the a an is are was were be been to of in on at for from with and or but not it its this that these those i you he she we they my your our me us them \
    what which who how why when where can could should would will do does did don't please if so then there here all any some more than as by into about out up has have had make \
    add write fix use get let new ";

/// Frequent short words of other languages in Latin letters which English does not have.
const OTHERS: &str = " der das und ist nicht ein eine einen einem einer ich du wir ihr sie mir mich dir bitte wie warum wann wer wo für mit auf von zu zum zur aus bei nach über wenn aber auch noch \
    kannst mach mache schreib schreibe gibt dem den des im ins uns unser unsere mein meine dein sind wird werden hat haben kann soll alle diese dieser dieses mal seit \
    le la les un une des du et est pas que qui quoi pour avec dans sur sous mon ma mes ton ta tes notre nos votre vos ce cette ces c'est je tu il elle nous vous ils fais fait peux peut \
    comment pourquoi quand où quel quelle quels l'app d'une stp merci \
    el los las una unos unas y es no por para con sin sobre mi mis tu tus su sus nuestro nuestra este esta estos estas ese eso que qué cómo cuándo dónde cuál quién hay del al lo se yo \
    puedes haz hazme escribe crea añade favor porfa muy pero también solo \
    o os as um uma e é não em no na nos nas do da dos das para pra por com sem meu minha nosso nossa esse essa isso você eu qual quais como quando onde porque faz faça está mais \
    il lo gli un'  uno e è non di del della dello dei delle per con su sul nel nella mio mia nostro nostra questo questa quello che chi cosa come quando dove perché sono fai fammi scrivi più \
    de het een en niet ik jij je wij we jullie zij mijn ons onze deze dit dat die wat hoe waarom wanneer waar voor met op van naar uit bij als maar ook nog kun kan maak schrijf zet \
    jest nie to na w z do się że i oraz dla po od ten ta te tego mi mój moja nasz nasza co jak kiedy gdzie dlaczego kto czy proszę napisz zrób jest są \
    ve bir bu şu için ile ne nasıl neden kim nerede mi mı mu mü değil çok daha var yok bana benim bizim lütfen yap yaz \
    och att det som en ett är inte jag du vi ni min mitt mina vår vårt på av för med till från om hur vad varför när vem var kan skriv gör den denna \
    og ikke jeg det er på af til hvordan hvad hvorfor \
    ja ei se on että mitä miten miksi ole kun mutta voit tee kirjoita \
    a az egy és nem hogy mi hol mikor miért ki van kell meg \
    je se na v ve že co jak kde kdy proč kdo pro s z do od jako ten ta to prosím napiš udělej jsou \
    și este nu pentru cu din pe care ce cum când unde scrie fă \
    dan yang di ke dari ini itu untuk dengan tidak apa bagaimana mengapa siapa saya kamu kami tolong buat tulis ada bisa \
    và là của có không cho với này đó tôi bạn hãy viết làm gì như thế nào ";

/// The frequent words of English, and those of other languages.
static FREQUENT: LazyLock<(HashSet<&str>, HashSet<&str>)> =
    LazyLock::new(|| (ENGLISH.split_whitespace().collect(), OTHERS.split_whitespace().collect()));

/// Returns true if a text is not English, as far as its letters and frequent words tell. `is_known` knows the training words.
pub(crate) fn is_foreign(text: &str, words: &[Word], is_known: impl Fn(&Word) -> bool) -> bool {
    let (mut latin, mut marked, mut others) = (0_usize, 0_usize, 0_usize);
    for c in text.chars().take(2_000).filter(|c| c.is_alphabetic()) {
        match c {
            'a'..='z' | 'A'..='Z' => latin += 1,
            '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => marked += 1,
            _ => others += 1,
        }
    }
    if others * 4 > latin {
        return true;
    }
    let (mut english, mut foreign) = (0.0_f32, 0.0_f32);
    for word in words.iter().take(200).filter(|word| !word.stem.starts_with('<')) {
        let (is_english, is_other) =
            (FREQUENT.0.contains(word.shown.as_str()), FREQUENT.1.contains(word.shown.as_str()));
        match (is_english, is_other) {
            (true, false) => english += 1.0,
            (false, true) => foreign += 1.0,
            (true, true) => {}
            (false, false) if !word.shown.is_ascii() => foreign += 0.7,
            // Names of techniques are the same in all languages.
            (false, false) if lexicon::classes(&word.stem) & lexicon::technical() != 0 => {}
            (false, false) if is_known(word) => english += 0.6,
            (false, false) if word.shown.bytes().all(|byte| byte.is_ascii_alphabetic()) => foreign += 0.3,
            (false, false) => {}
        }
    }
    let is_marked = marked * 12 > latin;
    foreign > english && (foreign >= 0.8 || is_marked)
}
