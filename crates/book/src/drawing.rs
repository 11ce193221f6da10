//! The picture of what moves in an execution: lanes, and an arrow for each move, as an SVG in the page.

use proof::Drawing;

use crate::html::escape;

/// Units of the picture: the distance of two lanes, of two arrows, and what stands above the first arrow.
const LANE: usize = 190;
const ROW: usize = 44;
const HEAD: usize = 52;

/// The picture. Its colours are the style sheet's; what it shows is in its title, in words.
pub(crate) fn svg(drawing: &Drawing) -> String {
    let middle = |lane: usize| LANE / 2 + lane * LANE;
    let width = LANE * drawing.lanes.len();
    let height = HEAD + ROW * drawing.moves.len() + ROW / 2;
    let in_words: Vec<_> = drawing
        .moves
        .iter()
        .map(|arrow| {
            let [from, to] = [arrow.from, arrow.to].map(|lane| drawing.lanes[lane].as_str());
            format!("{from} to {to}: {}", arrow.what)
        })
        .collect();
    let mut lines = vec![format!(
        "<div class=\"table-wrapper\"><svg class=\"drawing\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\"><title>{}.</title>",
        escape(&in_words.join("; "))
    )];
    for (lane, name) in drawing.lanes.iter().enumerate() {
        let x = middle(lane);
        lines.push(format!(
            "<text class=\"drawing-lane\" x=\"{x}\" y=\"20\">{}</text><path class=\"drawing-line\" d=\"M{x} 32V{height}\"/>",
            escape(name)
        ));
    }
    for (row, arrow) in drawing.moves.iter().enumerate() {
        let y = HEAD + ROW * row + ROW / 2;
        let (from, to) = (middle(arrow.from), middle(arrow.to));
        let right = to > from;
        let (back, tip) = if right {
            (to - 9, to - 1)
        } else {
            (to + 9, to + 1)
        };
        let class = if arrow.copied {
            "drawing-copy"
        } else {
            "drawing-address"
        };
        lines.push(format!(
            "<g class=\"{class}\"><path d=\"M{from} {y}H{back}\"/><path class=\"drawing-tip\" d=\"M{tip} {y}L{back} {}V{}Z\"/>\
             <text x=\"{}\" y=\"{}\">{}</text></g>",
            y - 5,
            y + 5,
            (from + to) / 2,
            y - 8,
            escape(&arrow.what)
        ));
    }
    lines.push("</svg></div>".to_owned());
    lines.concat()
}

#[cfg(test)]
mod tests {
    use proof::Move;

    use super::*;

    #[test]
    fn each_move_is_an_arrow_and_a_word_of_the_title() {
        let arrow = |from, to, copied| Move {
            from,
            to,
            what: "a < b".into(),
            copied,
        };
        let drawing = Drawing {
            lanes: vec!["caller".into(), "delegate".into()],
            moves: vec![arrow(0, 1, true), arrow(1, 0, false)],
        };
        let svg = svg(&drawing);
        assert!(svg.contains(
            "<title>caller to delegate: a &lt; b; delegate to caller: a &lt; b.</title>"
        ));
        assert_eq!(
            svg.matches("class=\"drawing-copy\"><path d=\"M95 74H276\"/>")
                .count(),
            1
        );
        assert_eq!(
            svg.matches("class=\"drawing-address\"><path d=\"M285 118H104\"/>")
                .count(),
            1
        );
        assert!(!svg.contains('\n'), "one block of HTML");
    }
}
